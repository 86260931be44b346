"""What pydantic found wrong, in one line: where, what, and which key was probably meant."""

from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from offscript._specification import nearest


def first_fault(fault: ValidationError, schema: type[BaseModel]) -> str:
    """The first finding; an unknown key is named together with what is near."""
    found = fault.errors()[0]
    path, known = _walked(found["loc"], schema)
    if found["type"] == "extra_forbidden":
        return f"unknown key {path!r}; {nearest(str(found['loc'][-1]), known)}"
    message = found["msg"].removeprefix("Value error, ")
    return f"{path}: {message}" if path else message


def _walked(location: tuple[int | str, ...], schema: type[BaseModel]) -> tuple[str, list[str]]:
    """A location as the user wrote it, and the keys that would have been right in its last place.

    Pydantic's locations also hold the chosen `kind` wherever the schema allows several.
    """
    path, known, allowed = "", list(schema.model_fields), [schema]
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        elif len(allowed) > 1:
            allowed = [one for one in allowed if part in get_args(one.model_fields["kind"].annotation)]
        else:
            path += f".{part}" if path else part
            known = list(allowed[0].model_fields) if allowed else []
            allowed = _models_in(allowed[0].model_fields[part].annotation) if part in known else []
    return path, known


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    """The schemas that an annotation such as `list[Source]` or `A | B` holds."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for argument in get_args(annotation) for found in _models_in(argument)]
