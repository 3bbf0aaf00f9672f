"""The exercises: one folder each, and the small machinery that grades them.

`checks` says what a check is, `solution` puts questions to a student's file, `worker` answers them
in a process of its own, `score_card` lets plain pytest do the grading, `feedback` writes the card.
"""
