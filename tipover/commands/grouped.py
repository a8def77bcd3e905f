"""A command whose many options are told in groups."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

REST = "Options"


class GroupedCommand(TyperCommand):
    """Puts each option into the section of ``--help`` that its ``rich_help_panel`` names, in the order in
    which the sections first come."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the sections; arguments come first."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                is_argument = parameter.param_type_name == "argument"
                name = "Arguments" if is_argument else getattr(parameter, "rich_help_panel", None) or REST
                sections.setdefault(name, []).append(record)
        for name, records in sections.items():
            with formatter.section(name):
                formatter.write_dl(records)
