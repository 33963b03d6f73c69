"""The parallel map gives its results in order and stops early."""

from margin.core.parallel import map_in_order


def test_work_comes_back_in_order_and_stops_early():
    made = []

    def make(number):
        made.append(number)
        return number * number

    assert list(map_in_order(make, 2, 9, threads=3)) == [n * n for n in range(2, 9)]
    made.clear()
    found = map_in_order(make, 0, 1000, threads=2)
    assert [next(found), next(found)] == [0, 1]
    found.close()
    assert len(made) < 50
