"""The public names and where they are defined, as ``make generated`` writes them."""

# functions
from margin.core.parameters import search_space as search_space
from margin.core.records import Record as Record
from margin.core.watching import watch as watch
from margin.data.streams import stream as stream
from margin.neural.estimators.rate_range import find_rate as find_rate
from margin.neural.estimators.time_report import profile_fit as profile_fit
from margin.runs import Run as Run
from margin.runs import fit as fit
from margin.runs.tracking import track as track
from margin.service.comparison import compare as compare
from margin.store import load as load
from margin.store import save as save
from margin.store.onnx import export_onnx as export_onnx

# linear
from margin.linear import BasisRegression as BasisRegression
from margin.linear import ElasticNet as ElasticNet
from margin.linear import HeteroscedasticRegression as HeteroscedasticRegression
from margin.linear import Lasso as Lasso
from margin.linear import LinearRegression as LinearRegression
from margin.linear import LogisticRegression as LogisticRegression
from margin.linear import PolynomialRegression as PolynomialRegression
from margin.linear import Ridge as Ridge
from margin.linear import SplineRegression as SplineRegression

# kernels
from margin.kernels import GaussianProcessClassifier as GaussianProcessClassifier
from margin.kernels import GaussianProcessRegressor as GaussianProcessRegressor
from margin.kernels import HardMarginSVC as HardMarginSVC
from margin.kernels import KernelRegression as KernelRegression
from margin.kernels import KernelRidge as KernelRidge
from margin.kernels import LinearSVC as LinearSVC
from margin.kernels import SVC as SVC
from margin.kernels import SVR as SVR
from margin.kernels import SparseGaussianProcessRegressor as SparseGaussianProcessRegressor

# neighbors
from margin.neighbors import KNeighborsClassifier as KNeighborsClassifier
from margin.neighbors import KNeighborsRegressor as KNeighborsRegressor
from margin.neighbors.density import HistogramDensity as HistogramDensity
from margin.neighbors.density import KernelDensity as KernelDensity

# bayes
from margin.bayes import BernoulliNB as BernoulliNB
from margin.bayes import CategoricalNB as CategoricalNB
from margin.bayes import GaussianNB as GaussianNB
from margin.bayes import LinearDiscriminantAnalysis as LinearDiscriminantAnalysis
from margin.bayes import MultinomialNB as MultinomialNB
from margin.bayes import QuadraticDiscriminantAnalysis as QuadraticDiscriminantAnalysis

# trees
from margin.trees import AdaBoostClassifier as AdaBoostClassifier
from margin.trees import AdaBoostRegressor as AdaBoostRegressor
from margin.trees import BaggingClassifier as BaggingClassifier
from margin.trees import BaggingRegressor as BaggingRegressor
from margin.trees import C45 as C45
from margin.trees import DecisionTreeClassifier as DecisionTreeClassifier
from margin.trees import DecisionTreeRegressor as DecisionTreeRegressor
from margin.trees import ExtraTreesClassifier as ExtraTreesClassifier
from margin.trees import ExtraTreesRegressor as ExtraTreesRegressor
from margin.trees import GradientBoostingClassifier as GradientBoostingClassifier
from margin.trees import GradientBoostingRegressor as GradientBoostingRegressor
from margin.trees import HistGradientBoostingClassifier as HistGradientBoostingClassifier
from margin.trees import HistGradientBoostingRegressor as HistGradientBoostingRegressor
from margin.trees import ID3 as ID3
from margin.trees import RandomForestClassifier as RandomForestClassifier
from margin.trees import RandomForestRegressor as RandomForestRegressor

# cluster
from margin.cluster import KMeans as KMeans

# mixture
from margin.mixture import GaussianMixture as GaussianMixture

# graphical
from margin.graphical import BayesianNetwork as BayesianNetwork
from margin.graphical import GaussianHMM as GaussianHMM
from margin.graphical import SumProductNetwork as SumProductNetwork

# reduction
from margin.reduction import CorrespondenceAnalysis as CorrespondenceAnalysis
from margin.reduction import FastICA as FastICA
from margin.reduction import Isomap as Isomap
from margin.reduction import MDS as MDS
from margin.reduction import PCA as PCA
from margin.reduction import TSNE as TSNE
from margin.reduction import UMAP as UMAP

# neural
from margin.neural.estimators import CNNClassifier as CNNClassifier
from margin.neural.estimators import CNNRegressor as CNNRegressor
from margin.neural.estimators import MLPClassifier as MLPClassifier
from margin.neural.estimators import MLPRegressor as MLPRegressor
from margin.neural.estimators import NeuralClassifier as NeuralClassifier
from margin.neural.estimators import NeuralRegressor as NeuralRegressor
from margin.neural.estimators import SequenceClassifier as SequenceClassifier
from margin.neural.estimators import SequenceRegressor as SequenceRegressor
from margin.neural.estimators import TabularNetClassifier as TabularNetClassifier
from margin.neural.estimators import TabularNetRegressor as TabularNetRegressor
from margin.neural.estimators import VisionTransformer as VisionTransformer

# vision
from margin.vision.detection import ObjectDetector as ObjectDetector
from margin.vision.features import HOG as HOG
from margin.vision.features import ImageFilter as ImageFilter
from margin.vision.features import VisualWords as VisualWords
from margin.vision.segmentation import Segmenter as Segmenter

# forecasting
from margin.forecasting import Forecaster as Forecaster

# meta
from margin.meta import DomainAdaptationClassifier as DomainAdaptationClassifier
from margin.meta import FewShotLearner as FewShotLearner
from margin.meta import ZeroShot as ZeroShot
from margin.meta.semi import PseudoLabel as PseudoLabel
from margin.meta.semi import SelfTrainingClassifier as SelfTrainingClassifier

# generative
from margin.generative import Autoencoder as Autoencoder
from margin.generative import CycleGAN as CycleGAN
from margin.generative import DiffusionModel as DiffusionModel
from margin.generative import FlowMatching as FlowMatching
from margin.generative import GAN as GAN
from margin.generative import LatentDiffusion as LatentDiffusion
from margin.generative import NormalizingFlow as NormalizingFlow
from margin.generative import ScoreModel as ScoreModel
from margin.generative import SparseAutoencoder as SparseAutoencoder
from margin.generative import TableSynthesizer as TableSynthesizer
from margin.generative import VAE as VAE

# text
from margin.text import CRFTagger as CRFTagger
from margin.text import GloVe as GloVe
from margin.text import HMMTagger as HMMTagger
from margin.text import LanguageModel as LanguageModel
from margin.text import LatentDirichletAllocation as LatentDirichletAllocation
from margin.text import MaskedLanguageModel as MaskedLanguageModel
from margin.text import TextClassifier as TextClassifier
from margin.text import TokenTagger as TokenTagger
from margin.text import Translator as Translator
from margin.text import Word2Vec as Word2Vec

# representation
from margin.representation import CLIP as CLIP
from margin.representation import NeighborhoodComponentsAnalysis as NeighborhoodComponentsAnalysis
from margin.representation import SimCLR as SimCLR

# graphs
from margin.graphs import GraphClassifier as GraphClassifier
from margin.graphs import GraphRegressor as GraphRegressor
from margin.graphs import LinkPredictor as LinkPredictor
from margin.graphs import NodeClassifier as NodeClassifier

# physics
from margin.physics import NeuralODE as NeuralODE
from margin.physics import PINN as PINN

# packages
from margin import bayes as bayes
from margin import cluster as cluster
from margin import data as data
from margin import forecasting as forecasting
from margin import foundations as foundations
from margin import generative as generative
from margin import graphical as graphical
from margin import graphs as graphs
from margin import interpretation as interpretation
from margin import kernels as kernels
from margin import linear as linear
from margin import meta as meta
from margin import metrics as metrics
from margin import mixture as mixture
from margin import neighbors as neighbors
from margin import neural as neural
from margin import notes as notes
from margin import optimize as optimize
from margin import physics as physics
from margin import reduction as reduction
from margin import report as report
from margin import representation as representation
from margin import selection as selection
from margin import text as text
from margin import trees as trees
from margin import vision as vision

__version__: str
__all__: list[str]
