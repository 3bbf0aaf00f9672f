"""minidecoder inside other libraries: a constraint goes in, their own loop draws the tokens."""
