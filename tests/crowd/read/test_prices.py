import pytest

from hutch.core.errors import DataError
from hutch.crowd.read.prices import read_prices


def test_the_mean_price_of_each_worker(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("worker,task,label,Price\nann,t1,x,2\ngpt,t1,x,0.01\ngpt,t2,x,0.03\n")
    assert read_prices(path) == pytest.approx({"ann": 2.0, "gpt": 0.02})
    path.write_text("worker,task,label\nann,t1,x\n")
    assert read_prices(path) == {}
    assert read_prices("-") == {}


@pytest.mark.parametrize("price", ["free", "0", "-1", "nan", "inf"])
def test_what_is_no_price_is_refused(tmp_path, price):
    path = tmp_path / "labels.tsv"
    path.write_text(f"worker\ttask\tlabel\tprice\nann\tt1\tx\t{price}\n")
    with pytest.raises(DataError, match=f"labels.tsv:2:10: price: got '{price}', wanted a number above 0"):
        read_prices(path)
