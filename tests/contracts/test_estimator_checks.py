"""scikit-learn's own estimator checks over the whole catalog; a check is skipped only with a written reason."""

from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from margin import catalog

ESTIMATORS = [catalog.class_of(entry.name)(**entry.test_params) for entry in catalog.ENTRIES]


def expected_failures(estimator):
    return dict(catalog.entry(catalog.name_of(estimator)).skipped_checks)


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_number_of_checks(capsys):
    """Silence is not success: the number of checks is printed, and none of the models has only a handful."""
    counts = {}
    for estimator in ESTIMATORS:
        counts[type(estimator).__name__] = sum(1 for _ in estimator_checks_generator(estimator))
    skips = sum(len(entry.skipped_checks) for entry in catalog.ENTRIES)
    with capsys.disabled():
        print(f"\nscikit-learn checks: {sum(counts.values())} over {len(counts)} estimators, {skips} skipped")
    assert all(count >= 40 for count in counts.values()), counts
    for entry in catalog.ENTRIES:
        assert all(len(reason) > 20 for reason in entry.skipped_checks.values()), "a skip needs a reason"
