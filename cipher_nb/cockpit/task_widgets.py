"""Fields that fill their line, and buttons, as the task panel's parts are built from them.

A field sends its text once, when it is left or Enter is pressed. Sent key by key, a front end holds the last keys back
while earlier ones are on their way, and a click overtakes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def field(name: str, hint: str, value: str = "") -> Any:
    """Return a field of one line."""
    import ipywidgets as widgets

    return widgets.Text(value, description=name, placeholder=hint, continuous_update=False, layout=_wide())


def lines(name: str, hint: str, values: Sequence[str]) -> Any:
    """Return a field that holds a value a line; `given` reads it."""
    import ipywidgets as widgets

    return widgets.Textarea(
        "\n".join(values), description=name, placeholder=hint, rows=2, continuous_update=False, layout=_wide()
    )


def given(field: Any) -> tuple[str, ...]:
    return tuple(line.strip() for line in field.value.splitlines() if line.strip())


def choice(name: str) -> Any:
    """Return a list to choose one from."""
    import ipywidgets as widgets

    return widgets.Dropdown(description=name, layout=_wide())


def button(name: str, tooltip: str, on_click: Callable[[], None]) -> Any:
    import ipywidgets as widgets

    made = widgets.Button(description=name, tooltip=tooltip, layout=widgets.Layout(width="auto", min_width="7em"))
    made.on_click(lambda _: on_click())
    return made


def _wide() -> Any:
    import ipywidgets as widgets

    return widgets.Layout(flex="1 1 20em", width="auto", min_width="0")
