"""scikit-learn's own estimator checks over the whole catalog; a check is skipped only with a written reason."""

from problems import EXPECTED_FAILURES, TEST_PARAMETERS
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from margin import catalog

ESTIMATORS = [catalog.create(entry.name, **TEST_PARAMETERS.get(entry.name, {})) for entry in catalog.ENTRIES]


def expected_failures(estimator):
    return EXPECTED_FAILURES.get(catalog.name_of(estimator), {})


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_number_of_checks(capsys):
    """Silence is not success: the number of checks is printed, and none of the models has only a handful."""
    counts = {}
    for estimator in ESTIMATORS:
        counts[type(estimator).__name__] = sum(1 for _ in estimator_checks_generator(estimator))
    skips = sum(len(reasons) for reasons in EXPECTED_FAILURES.values())
    with capsys.disabled():
        print(f"\nscikit-learn checks: {sum(counts.values())} over {len(counts)} estimators, {skips} skipped")
    # Models that take no table scikit-learn cannot feed: it clones them and leaves the rest to our own contracts.
    least = {type(e).__name__: 40 if e.__sklearn_tags__().input_tags.two_d_array else 1 for e in ESTIMATORS}
    assert all(count >= least[name] for name, count in counts.items()), counts
    for reasons in EXPECTED_FAILURES.values():
        assert all(len(reason) > 20 for reason in reasons.values()), "a skip needs a reason"
