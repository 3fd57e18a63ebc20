"""The verbs of `python -m cyxla`, a module for each.

A module has `add`, which declares its verb and arguments; the function that does the work returns
the exit status. What goes wrong is an exception, of which `cyxla.__main__` prints one line.
"""
