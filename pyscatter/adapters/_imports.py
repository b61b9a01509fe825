"""Importing the package that an adapter is for, or saying how to install it."""

import importlib


def required(module, extra):
    """Return a module; an ImportError has the line that installs it.

    Parameters
    ----------
    module : str
        What is imported.
    extra : str
        The extra of pyscatter that brings it.

    Returns
    -------
    module
        The module.

    Raises
    ------
    ImportError
        It is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        raise ImportError(
            f'{error.name} is not installed: pip install "pyscatter[{extra}]"'
        ) from None
