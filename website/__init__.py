"""The course as a folder of pages: `python -m website` writes `site/`, which opens by double-click.

    errors, shelf    what can go wrong; which file of the repository stands at which address
    markdown, code   prose and programs as HTML
    outputs          what a cell printed: text, pictures, and the player where a run was recorded
    lessons, index   the pages; `page` is the frame around each
    films, toys      films that were rendered, with captions; small runs to step through
    build            all of it, written beside and then put in place

The lessons are read as they are committed and not run. Left out: a server, a search, anything fetched.
"""
