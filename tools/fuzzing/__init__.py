"""A standing fuzzer over every reader of files, every parser of strings and the command line.

    make fuzz SECONDS=60                             all kinds of input, for a minute
    PYTHONPATH=tools python -m fuzzing --only index  kinds whose name matches "index"
    PYTHONPATH=tools python -m fuzzing --replay FILE one stored input again, with its traceback

Each kind of input has an example that is read without complaint. The fuzzer damages it, by bytes and by structure, and
reads the result in a child process. Only a result or an `OffscriptError` of one line may come out: any other exception,
a crash, more than 10 seconds of processor time and more than 1 GB of memory are failures. A failing input is stored,
and printed with the command that reads it again.
"""
