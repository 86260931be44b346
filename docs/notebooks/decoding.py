# %% [markdown]
# # Which decoding setting should I use?
#
# Sampling trades quality for diversity: a cautious setting repeats itself, a bold one makes mistakes. The question
# `sampling` continues the same beginnings of real sentences with every setting and the same random numbers, and
# scores both sides: corpus-BLEU (quality, higher is better) and self-BLEU (how much the samples repeat each other,
# lower is more diverse).

# %%
from offscript.measures import Subject, questions
from offscript.measures.question import Silent
from offscript.models import load_model
from offscript.sampling import generate, parse_transform, texts

student = load_model("offscript/news-student")
for sampler in ("top-k,k=5", "nucleus,p=0.9", "ancestral"):
    samples = generate(student, rows=2, length=15, seed=0, transform=parse_transform(sampler))
    print(sampler, *texts(student, samples), sep="\n    ")

# %% [markdown]
# ## Measure a few settings
#
# `Subject` is what is asked about: a model, and an oracle that stands for real text. A question says which settings
# it takes.

# %%
sampling = questions()["sampling"]
subject = Subject("offscript/news-student", "offscript/news", seed=1)
settings = sampling.settings(
    {
        "samplers": "nucleus,p=0.5,nucleus,p=0.9,nucleus,p=1.0,top-k,k=5,top-k,k=50,tempered,temperature=0.7",
        "samples": 60,
        "prefix": 8,
        "length": 24,
    }
)
answer = sampling.measure(subject, settings, Silent())
for figure in answer.measurements:
    if "bleu" in figure.name:
        print(f"{figure.name:42} {figure.value:.3f}  {figure.interval.lower:.3f} … {figure.interval.upper:.3f}")

# %% [markdown]
# ## Draw them
#
# Each point is a setting with its intervals. Settings that cannot be told apart from the best are shaded.

# %%
title, chart = sampling.charts(answer.measurements)[0]
print(title)
chart

# %% [markdown]
# ## Conclude
#
# The finding names the simplest setting among those that cannot be told apart from the best. With 60 prefixes that is
# often several; the sentence says how many prefixes would separate them.

# %%
finding = sampling.conclude({figure.name: figure for figure in answer.measurements}, {})
print(finding.headline)
print(finding.sentence)

# %% [markdown]
# The same from the command line, with the whole grid: `offscript measure sampling offscript/news-student --oracle
# offscript/news --samplers nucleus,top-k`.
