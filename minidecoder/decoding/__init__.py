"""What happens between two tokens: constraint, matcher, sampling, loop."""
