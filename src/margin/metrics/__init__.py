"""Measures of predictions, probabilities, rankings, clusters, densities and sets: pure functions of arrays.

``REGISTRY`` lists those a board of models can be sorted by, with their direction and what they need from a model.
"""

from typing import TYPE_CHECKING

from margin.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from margin.metrics.arguments import UndefinedMetricError
    from margin.metrics.classification import (
        f1,
        fbeta,
        jaccard,
        negative_predictive_value,
        precision,
        recall,
        sensitivity,
        specificity,
    )
    from margin.metrics.clustering import calinski_harabasz, davies_bouldin, inertia, silhouette, silhouette_samples
    from margin.metrics.confusion import accuracy, balanced_accuracy, cohen_kappa, confusion_matrix, matthews
    from margin.metrics.density import (
        bits_per_dimension,
        mean_log_likelihood,
        perplexity,
    )
    from margin.metrics.gains import cumulative_gains, threshold_counts
    from margin.metrics.partitions import (
        adjusted_rand,
        completeness,
        homogeneity,
        normalized_mutual_information,
        v_measure,
    )
    from margin.metrics.probabilities import (
        CalibrationBins,
        brier,
        calibration_bins,
        expected_calibration_error,
        log_loss,
        mcfadden_r2,
    )
    from margin.metrics.ranking import (
        average_precision,
        pair_count,
        precision_recall_curve,
        roc_auc,
        roc_curve,
        top_k_accuracy,
    )
    from margin.metrics.registry import (
        REGISTRY,
        Metric,
        evaluate,
        metric,
        metrics_of,
    )
    from margin.metrics.regression import (
        adjusted_r2,
        explained_ratio,
        explained_variance,
        mae,
        mape,
        max_error,
        median_absolute_error,
        mse,
        pinball,
        r2,
        rmse,
        rmsle,
        squared_correlation,
    )
    from margin.metrics.sets import (
        box_iou,
        dice,
        hausdorff,
        hausdorff_pairs,
        iou,
    )
    from margin.metrics.thresholds import best_threshold, cost_at_threshold, recall_at_fpr, threshold_sweep
else:
    __getattr__, __dir__ = lazy_names(__name__)

__all__ = [
    "REGISTRY",
    "CalibrationBins",
    "Metric",
    "UndefinedMetricError",
    "accuracy",
    "adjusted_r2",
    "adjusted_rand",
    "average_precision",
    "balanced_accuracy",
    "best_threshold",
    "bits_per_dimension",
    "box_iou",
    "brier",
    "calibration_bins",
    "calinski_harabasz",
    "cohen_kappa",
    "completeness",
    "confusion_matrix",
    "cost_at_threshold",
    "cumulative_gains",
    "davies_bouldin",
    "dice",
    "evaluate",
    "expected_calibration_error",
    "explained_ratio",
    "explained_variance",
    "f1",
    "fbeta",
    "hausdorff",
    "hausdorff_pairs",
    "homogeneity",
    "inertia",
    "iou",
    "jaccard",
    "log_loss",
    "mae",
    "mape",
    "matthews",
    "max_error",
    "mcfadden_r2",
    "mean_log_likelihood",
    "median_absolute_error",
    "metric",
    "metrics_of",
    "mse",
    "negative_predictive_value",
    "normalized_mutual_information",
    "pair_count",
    "perplexity",
    "pinball",
    "precision",
    "precision_recall_curve",
    "r2",
    "recall",
    "recall_at_fpr",
    "rmse",
    "rmsle",
    "roc_auc",
    "roc_curve",
    "sensitivity",
    "silhouette",
    "silhouette_samples",
    "specificity",
    "squared_correlation",
    "threshold_counts",
    "threshold_sweep",
    "top_k_accuracy",
    "v_measure",
]
