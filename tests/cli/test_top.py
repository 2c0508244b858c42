"""`hutch predict --top`."""

from hutch import Chain


def test_hutch_predict(tmp_path, monkeypatch, hutch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.vw").write_text("3 a|x u\n1 b|x v\n2 c|x w\n\n0 d|x z\n" * 30)
    assert hutch("train", "data.vw", "-f", "model", "--quiet").code == 0
    found = hutch("predict", "data.vw", "-i", "model", "--top", "2", "--quiet")
    assert [line.split(" ")[-1] for line in found.out.splitlines()[:3]] == ["a", "c", ""]
    assert hutch("predict", "data.vw", "-i", "model", "--top", "2", "--interval", "0.9").code == 2
    classes = Chain.from_config({"chain": [{"one_against_all": {"classes": 3}}, "linear"]})
    classes.save(tmp_path / "classes")
    refused = hutch("predict", "data.vw", "-i", "classes", "--top", "2", "--quiet")
    assert refused.code == 2 and "--top: got a chain on 'one_against_all', wanted one that predicts" in refused.err
