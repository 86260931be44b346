# %% [markdown]
# # Does a model drift away from its data?
#
# A language model is trained on real histories and generates from its own. *Exposure bias* says that its predictions
# get worse on the way. With an oracle, a model that stands for the data's true distribution, that can be measured.
# This notebook uses the pair that ships with offscript: a student, and the model whose samples it learned from.

# %%
from offscript.measures import measure_exposure, questions
from offscript.models import load_model
from offscript.sampling import generate, parse_transform, texts

student, oracle = load_model("offscript/news-student"), load_model("offscript/news")
for text in texts(student, generate(student, rows=3, length=20, seed=0, transform=parse_transform("ancestral"))):
    print(text)

# %% [markdown]
# ## EB-C: the ratio of two deviations
#
# After a history, the student's next-token distribution deviates from the oracle's by some distance. EB-C divides its
# mean after the student's *own* histories by its mean after the *data's* histories: 1 is no exposure bias, 1.1 is a
# deviation that is 10 % larger. Each figure has an interval.

# %%
figures = measure_exposure(student, oracle, samples=200, length=20, seed=1, distances=["js"], marginal=False)
for figure in figures:
    print(f"{figure.name:24} {figure.value:8.4f}  {figure.interval.lower:8.4f} … {figure.interval.upper:.4f}")

# %% [markdown]
# ## By the length of the history
#
# If errors piled up, the curve would rise with the length.

# %%
title, chart = questions()["exposure"].charts(figures)[0]
print(title)
chart

# %% [markdown]
# ## What a large effect looks like
#
# Histories of which a share of the words is replaced at random are worse than anything the student writes. They show
# how large the deviation gets where histories really are bad.

# %%
corrupted = measure_exposure(
    student,
    oracle,
    samples=200,
    length=20,
    seed=1,
    distances=["js"],
    marginal=False,
    histories=["corrupted,rate=0.1", "corrupted,rate=0.3"],
)
for figure in corrupted:
    if "corrupted" in figure.name or figure.name == "cgd_data.js":
        print(f"{figure.name:24} {figure.value:8.4f}  {figure.interval.lower:8.4f} … {figure.interval.upper:.4f}")

# %% [markdown]
# The same from the command line, with more samples and a page: `offscript audit offscript/news-student --oracle
# offscript/news`. What the figures mean is in the [glossary](../glossary.md).
