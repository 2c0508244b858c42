"""Small runs of the shipped chains and of usual commands, for `hutch warmup`: they compile what these need."""

from pathlib import Path

CHAINS = {
    "linear": "[{linear: {loss: squared, learning_rate: 0.5, power_t: 0.5}}]",
    "sentiment": "[{linear: {loss: logistic, learning_rate: 0.5, interactions: [[text, author]]}}]",
    "active": "[{active: {}}, {linear: {loss: logistic}}]",
    "crowd_em": "[{crowd_em: {classes: 3, worker: worker, passes: 2}}, {one_against_all: {classes: 3}}, "
    "{linear: {loss: logistic, initial_t: 0.1}}]",
    "ethnicity": "[{filter_tree: {classes: 5}}, "
    "{dyadic: {left: rater, right: task, rank: 2, loss: hinge, learning_rate: 0.3, l2: 0.3, shift: 0.3}}]",
    "ratings": "[{dyadic: {left: user, right: item, rank: 8, loss: squared}}]",
    "ppca": "[{ppca: {namespace: pixel, dimension: 64, rank: 15}}, {one_against_all: {classes: 10}}, "
    "{linear: {loss: squared, interactions: [[latent, latent]]}}]",
}
"""The chains of configs/, which are not part of an installation."""

_DATA = {
    "lines.vw": "1 'a |text x:0.5 y |author z\n-1 |text x |author z\n",
    "pool.vw": "|text x\n|text y\n|author z\n",
    "blocks.vw": "1 |worker v |words a\n2 |worker w |words a\n\n2 |worker v |words b\n2 |worker w |words b\n",
    "raters.vw": "3 |rater r |task t\n1 |rater s |task t\n",
    "ratings.vw": "3.5 |user r |item t\n1 |user s |item t\n",
    "digits.vw": "1 |pixel 0:0.5 3:1\n2 |pixel 1:1 2:0.5\n3 |pixel 5:1\n",
    "table.csv": "label,importance,tag,number,word,text\n1,1,a,0.5,x,good words\n0,2,b,,y,more words\n",
    "table.svm": "1 1:0.5 7:2\n-1 qid:2 3:1\n",
    "labels.tsv": "w1\tt1\ta\nw2\tt1\ta\nw1\tt2\tb\nw2\tt2\tb\nw3\tt2\ta\n",
    "gold.tsv": "t1\ta\n",
    "votes.csv": "worker,left,right,winner\nv,a,b,a\nw,b,c,b\nv,c,a,a\nw,a,c,tie\n",
    "rows.csv": "a,b,c\n" + "".join(f"{i},{i * i % 7},{i * i * i % 11}\n" for i in range(120)),
}
_TEXT = {"text.yaml": "input: {columns: {text: [text], tag: tag}}\nchain: [{linear: {}}]\n"}
FILES = _DATA | _TEXT | {f"{name}.yaml": f"chain: {layers}\n" for name, layers in CHAINS.items()}
"""What the runs read, by name."""

THEN = "&&"
"""Between two commands of one run."""

USUAL = (("train", "lines.vw", "--quiet", "-p", "predictions.txt", "-f", "model"),)
"""What every run of a chain needs beside the kernels of its layers."""

RUNS = tuple(
    tuple(line.split())
    for line in (
        "train raters.vw -C ethnicity.yaml --passes 2 --quiet -p out -f model",
        "train ratings.vw -C ratings.yaml --passes 2 --quiet -p out -f model",
        "train digits.vw -C ppca.yaml --quiet -p out -f model && predict digits.vw -i model -p out",
        "train blocks.vw -C crowd_em.yaml --passes 5 --quiet -r out -f model && predict blocks.vw -i model -p out",
        "train lines.vw -C active.yaml --quiet -f model && active ask pool.vw -i model --store store -n 1 && "
        "active report --store store",
        "train lines.vw -C sentiment.yaml --quiet -p out",
        "train table.csv -C text.yaml --quiet -p out && train table.svm --quiet -p out",
        "crowd labels.tsv --quiet --next 1 -p out --workers out.tsv --gold gold.tsv",
        "crowd labels.tsv --quiet --report report.txt --suspects out.tsv",
        "crowd labels.tsv --quiet --method online -p out --workers out.tsv",
        "crowd votes.csv --quiet --pairs",
        "em fit rows.csv --rank 1 && em fit rows.csv --rank 2",
    )
)
"""What the shipped chains and `hutch crowd`, `em` and `active` need, the longest first."""


def read_tables() -> None:
    """Learn from an Arrow table, where pyarrow is installed."""
    try:
        import pyarrow
    except ImportError:
        return
    from hutch.chain import Chain

    table = pyarrow.table({"label": [1.0, 0.0], "number": [0.5, 2.0], "word": ["a", "b"]})
    Chain.from_config({"chain": [{"linear": {}}]}).learn(table)


def write(folder: Path) -> None:
    """Write the files."""
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
