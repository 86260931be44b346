"""Studies that people take part in: what is drawn for them, what they answer, and what becomes of it.

A study is a folder: `study.json` says how it is run, `items.jsonl` what is shown, `study.sqlite` what people answered.
`offscript.web` serves it; `offscript.measures` reads it.
"""

from typing import TYPE_CHECKING

from offscript._lazy import loader, public_names

if TYPE_CHECKING:
    from offscript.studies.associations import AssociationStore as AssociationStore
    from offscript.studies.design import StudyDesign as StudyDesign
    from offscript.studies.design import StudyItem as StudyItem
    from offscript.studies.design import read_design as read_design
    from offscript.studies.design import read_items as read_items
    from offscript.studies.drawing import draw_rating_study as draw_rating_study
    from offscript.studies.export import study_ratings as study_ratings
    from offscript.studies.store import RatingStore as RatingStore

_PLACES = {
    "associations": "AssociationStore",
    "design": "StudyDesign StudyItem read_design read_items",
    "drawing": "draw_rating_study",
    "export": "study_ratings",
    "store": "RatingStore",
}
__getattr__ = loader(__name__, _PLACES)
__all__ = public_names(_PLACES)
