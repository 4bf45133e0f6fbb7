"""Forms of the operators of ONNX's other domains: machine learning (``ai.onnx.ml``), training, and previews."""

from __future__ import annotations

from typing import Any

from differential.node_drafts import Draft, form

ML = "ai.onnx.ml"
WORDS = ("", "a", "b c", "été", "7")
"""Strings that are looked up."""
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def numbers(d: Draft, count: int) -> tuple[float, ...]:
    """Coefficients: floats that are exact in 32 bits."""
    return tuple(d.source.randint(-8, 8) / 4 for _ in range(count))


def rows(d: Draft) -> int:
    """Give a table of some rows, and return the number of its columns."""
    columns = d.source.randint(1, 4)
    d.give((d.source.randint(1, 3), columns))
    return columns


def labels(d: Draft, count: int, ints: str) -> None:
    """State the names of classes: numbers or strings."""
    if d.chance(0.5):
        d.attributes.append((ints, tuple(range(3, 3 + count))))
    else:
        d.attributes.append(("classlabels_strings", tuple("abcdefgh"[:count])))


# ---- features ---------------------------------------------------------------------------------------------------


@form("ArrayFeatureExtractor", ML)
def features(d: Draft) -> None:
    shape = d.dims(1)
    d.give(shape)
    d.give((d.source.randint(1, 3),), f"0<{shape[-1]}")


@form("Binarizer Normalizer", ML)
def plain(d: Draft) -> None:
    d.give(d.dims(1, 2))
    d.state("threshold", d.pick([0.0, 0.5, -1.25]))
    d.state("norm", d.pick(["MAX", "L1", "L2"]))


@form("Scaler", ML)
def scaler(d: Draft) -> None:
    columns = rows(d)
    count = d.pick([1, columns])
    d.attributes += [("offset", numbers(d, count)), ("scale", numbers(d, count))]


@form("Imputer", ML)
def imputer(d: Draft) -> None:
    columns = rows(d)
    count = d.pick([1, columns])
    if d.inputs[0][0] in ("float", "double"):
        d.attributes += [("imputed_value_floats", numbers(d, count)), ("replaced_value_float", 0.5)]
    else:
        d.attributes += [("imputed_value_int64s", tuple(range(count))), ("replaced_value_int64", 1)]


@form("FeatureVectorizer", ML)
def feature_vectorizer(d: Draft) -> None:
    height = d.source.randint(1, 3)
    widths = [d.source.randint(1, 3) for _ in range(d.source.randint(1, 3))]
    for width in widths:
        d.give((height, width))
    d.attributes.append(("inputdimensions", tuple(widths)))


@form("LabelEncoder", ML)
def label_encoder(d: Draft) -> None:
    if d.has("classes_strings"):
        d.attributes.append(("classes_strings", WORDS[:3]))
        d.state("default_string", "none", 0.5)
        d.state("default_int64", -7, 0.5)
        d.give(d.dims(1), "few" if d.type() == "int64" else "any")
        return
    kinds: dict[str, tuple[Any, ...]] = {"strings": WORDS[:3], "int64s": (0, 1, 2), "floats": (0.0, 1.0, 2.5)}
    key, to = d.pick(sorted(kinds)), d.pick(sorted(kinds))
    d.attributes += [(f"keys_{key}", kinds[key]), (f"values_{to}", kinds[to])]
    name = f"default_{to.removesuffix('s')}"
    d.state(name, {"strings": "none", "int64s": -7, "floats": 0.25}[to], 0.5)
    dtype = {"strings": "string", "int64s": "int64", "floats": "float"}[key]
    if d.has("keys_tensor") and d.chance(0.5):
        dtype, made = d.pick(["double", "int32", "int16", "int64"]), d.pick(["double", "int32", "int16", "float"])
        d.attributes = [("keys_tensor", ("tensor", dtype, (3,), (0, 1, 2))),
                        ("values_tensor", ("tensor", made, (3,), (4, 5, 6))),
                        ("default_tensor", ("tensor", made, (1,), (9,)))]  # fmt: skip
    d.give(d.dims(1), "any" if dtype == "string" else "few", dtype)


@form("CategoryMapper", ML)
def category_mapper(d: Draft) -> None:
    d.attributes += [("cats_strings", WORDS[:3]), ("cats_int64s", (0, 1, 5))]
    d.state("default_string", "none", 0.5)
    d.state("default_int64", -7, 0.5)
    d.give(d.dims(1), "any" if d.type() == "string" else "few")


@form("OneHotEncoder", ML)
def one_hot_encoder(d: Draft) -> None:
    text = d.type() == "string"
    d.attributes.append(("cats_strings", WORDS) if text else ("cats_int64s", (0, 1, 2)))
    d.give(d.dims(1), "any" if text else "few")
    d.state("zeros", d.pick([0, 1]))


# ---- maps -------------------------------------------------------------------------------------------------------


@form("CastMap", ML)
def cast_map(d: Draft) -> None:
    d.give((3,), "any", "map(int64,float)")  # Python gives onnxruntime no other
    d.state("cast_to", d.pick(["TO_FLOAT", "TO_STRING", "TO_INT64"]))
    d.attributes.append(("map_form", "DENSE"))
    if d.chance(0.4):
        d.attributes[-1:] = [("map_form", "SPARSE"), ("max_map", 5)]


@form("DictVectorizer", ML)
def dict_vectorizer(d: Draft) -> None:
    key = d.pick(["int64", "string"])
    d.give((3,), "any", f"map({key},float)")
    d.attributes.append(("int64_vocabulary", (1, 0, 9)) if key == "int64" else ("string_vocabulary", WORDS[:3]))


@form("ZipMap", ML)
def zip_map(d: Draft) -> None:
    columns = d.source.randint(1, 4)
    d.give((d.source.randint(1, 3), columns))
    labels(d, columns, "classlabels_int64s")


# ---- linear models and support vectors --------------------------------------------------------------------------


@form("LinearRegressor LinearClassifier", ML)
def linear(d: Draft) -> None:
    columns = rows(d)
    count = d.source.randint(2, 3) if d.has("multi_class") else d.source.randint(1, 3)
    d.attributes.append(("coefficients", numbers(d, count * columns)))
    d.state("intercepts", numbers(d, count))
    if d.has("targets"):
        d.attributes.append(("targets", count))
    else:
        labels(d, count, "classlabels_ints")
        d.state("multi_class", d.pick([0, 1]))
        d.outputs = 2
    d.state("post_transform", d.pick(TRANSFORMS[:4]), 0.5)


@form("SVMRegressor SVMClassifier", ML)
def support_vectors(d: Draft) -> None:
    columns, count = rows(d), 3
    d.attributes.append(("support_vectors", numbers(d, count * columns)))
    d.attributes.append(("kernel_type", d.pick(["LINEAR", "RBF", "POLY", "SIGMOID"])))
    d.attributes.append(("kernel_params", (0.5, 0.25, 2.0)))
    d.attributes.append(("coefficients", numbers(d, count)))
    d.attributes.append(("rho", numbers(d, 1)))
    if d.has("n_supports"):
        d.attributes.append(("n_supports", count))
        d.state("one_class", 1, 0.2)
    else:
        d.attributes.append(("vectors_per_class", (2, 1)))
        labels(d, 2, "classlabels_ints")
        if d.chance(0.4):
            d.attributes += [("prob_a", (0.5,)), ("prob_b", (-0.25,))]
        d.outputs = 2
    d.state("post_transform", d.pick(TRANSFORMS[:4]), 0.3)


# ---- trees ------------------------------------------------------------------------------------------------------

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")


@form("TreeEnsembleRegressor TreeEnsembleClassifier", ML)
def trees(d: Draft) -> None:
    """Some trees of one branch and two leaves."""
    columns, count = rows(d), d.source.randint(1, 2)
    wide = d.has("nodes_values_as_tensor") and d.inputs[0][0] == "double"
    each = range(count)

    def floats(name: str, values: tuple[float, ...]) -> None:
        stated = ("tensor", "double", (len(values),), values) if wide else values
        d.attributes.append((f"{name}_as_tensor" if wide else name, stated))

    d.attributes += [
        ("nodes_treeids", tuple(t for t in each for _ in range(3))), ("nodes_nodeids", (0, 1, 2) * count),
        ("nodes_featureids", tuple(n for _ in each for n in (d.source.randrange(columns), 0, 0))),
        ("nodes_modes", tuple(m for _ in each for m in (d.pick(MODES), "LEAF", "LEAF"))),
        ("nodes_truenodeids", (1, 0, 0) * count), ("nodes_falsenodeids", (2, 0, 0) * count),
    ]  # fmt: skip
    floats("nodes_values", tuple(v for _ in each for v in (d.pick([0.0, 0.5, 1.0]), 0.0, 0.0)))
    d.state("nodes_missing_value_tracks_true", (d.pick([0, 1]), 0, 0) * count, 0.3)
    kind = "target" if d.has("target_ids") else "class"
    classes = 1 if kind == "target" and d.chance(0.5) else 2
    d.attributes += [
        (f"{kind}_treeids", tuple(t for t in each for _ in range(2))), (f"{kind}_nodeids", (1, 2) * count),
        (f"{kind}_ids", (0, classes - 1) * count),
    ]  # fmt: skip
    floats(f"{kind}_weights", numbers(d, 2 * count))
    if kind == "target":
        d.attributes.append(("n_targets", classes))
        d.state("aggregate_function", d.pick(["SUM", "AVERAGE", "MIN", "MAX"]), 0.5)
    else:
        labels(d, classes, "classlabels_int64s")
        d.outputs = 2
    if d.chance(0.3):
        floats("base_values", numbers(d, classes))
    d.state("post_transform", d.pick(TRANSFORMS[:4]), 0.3)


# ---- training and previews --------------------------------------------------------------------------------------


@form("Adagrad Adam Momentum", "ai.onnx.preview.training")
def optimizers(d: Draft) -> None:
    """Some tensors, their gradients, and what the optimizer knows of them."""
    d.give((), "unit")
    d.give((), "=3")
    shapes = [d.dims(1, 2) for _ in range(d.source.randint(1, 2))]
    groups = 4 if d.schema.name == "Adam" else 3
    for _ in range(groups):
        for shape in shapes:
            d.give(shape, "positive")
    for name, attribute in d.schema.attributes.items():
        d.state(name, d.pick(["standard", "nesterov"]) if name == "mode" else 0.25, 1 if attribute.required else 0.5)
    d.outputs = len(shapes) * (groups - 1)


@form("FlexAttention", "ai.onnx.preview")
def flex_attention(d: Draft) -> None:
    batch, heads, size = d.source.randint(1, 2), d.pick([2, 4]), d.source.randint(1, 4)
    length, others = d.source.randint(1, 3), d.source.randint(1, 3)
    d.give((batch, heads, length, size))
    d.give((batch, heads // d.pick([1, 2]), others, size))
    d.give(d.inputs[1][1])
    d.state("scale", 0.5, 0.4)
    for name in ("score_mod", "prob_mod"):
        number = 11 if d.inputs[0][0] == "double" else 1
        d.state(name, ("body", d.pick(["Neg", "Abs", "Identity", "Relu"]), number), 0.3)
