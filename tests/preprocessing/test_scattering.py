import numpy as np
import pytest
from scipy import fft
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from ekss import EKSS
from ekss.metrics import clustering_error
from ekss.preprocessing import PrincipalComponents, Scattering2D, UnitRows
from ekss.preprocessing._cascade import (
    _for_folding,
    _moduli,
    make_plan,
    morlet_transforms,
    scatter,
    scattering_paths,
)


@pytest.fixture(scope="module")
def digits():
    """Return twenty digits, enlarged to 16 x 16 in the middle of 32 x 32 pixels."""
    large = np.kron(load_digits().images[:20] / 16, np.ones((1, 2, 2)))
    return np.pad(large, ((0, 0), (8, 8), (8, 8))).reshape(20, -1)


def gabor(shape, spread, angle, frequency, slant):
    """Sample a Gabor function at the pixels, straight from its formula in space."""
    total = np.zeros(shape, complex)
    for down in range(-2, 3):
        for right in range(-2, 3):
            row = np.arange(shape[0])[:, None] + down * shape[0]
            column = np.arange(shape[1])[None, :] + right * shape[1]
            along = np.cos(angle) * row + np.sin(angle) * column
            across = np.cos(angle) * column - np.sin(angle) * row
            squared = (along**2 + (slant * across) ** 2) / spread**2
            total += np.exp(-squared / 2 + 1j * frequency * along)
    return total * slant / (2 * np.pi * spread**2)


def morlet(shape, scale, index, L):
    spread, frequency = 0.8 * 2**scale, 0.75 * np.pi / 2**scale
    slant, angle = min(1.0, 4 / L), np.pi * index / L
    wave = gabor(shape, spread, angle, frequency, slant)
    envelope = gabor(shape, spread, angle, 0.0, slant)
    return wave - envelope * (wave.sum() / envelope.sum())


def reference(image, J, L):
    """Convolve at full resolution from end to end, and sample only the result."""
    step = 2**J
    x = np.pad(image, step, mode="reflect")
    window = gabor(x.shape, 0.8 * 2 ** (J - 1), 0.0, 0.0, 1.0)
    window /= window.sum()

    def convolve(values, kernel):
        return fft.ifft2(fft.fft2(values) * fft.fft2(kernel))

    def sample(values):
        return convolve(values, window).real[step:-step:step, step:-step:step]

    result = []
    for path in scattering_paths(J, L, 2):
        values = x
        for scale, index in zip(path[::2], path[1::2], strict=True):
            values = np.abs(convolve(values, morlet(x.shape, scale, index, L)))
        result.append(sample(values))
    return np.array(result)


@parametrize_with_checks([Scattering2D(J=1, L=2, image_shape=(1, -1))])
def test_scikit_learn_contract(estimator, check):
    # Most checks bring data whose width is no square: one row of pixels fits all.
    check(estimator)


@pytest.mark.parametrize(("J", "L"), [(1, 4), (2, 6), (3, 8)])
@pytest.mark.parametrize("order", [1, 2])
def test_number_of_features(J, L, order):
    X = np.zeros((2, 32 * 32), np.float32)
    model = Scattering2D(J, L, order).fit(X)
    paths = 1 + J * L + (order == 2) * L * L * J * (J - 1) // 2
    assert model.output_shape_ == (paths, 32 >> J, 32 >> J)
    assert model.transform(X).shape == (2, paths * (32 >> J) ** 2)
    assert len(model.get_feature_names_out()) == paths * (32 >> J) ** 2


def test_recipe_for_mnist_has_3472_features():
    X = np.zeros((1, 28 * 28), np.float32)
    assert Scattering2D(pad_to=(32, 32)).fit_transform(X).shape == (1, 3472)


def test_wavelets_are_those_of_the_formula_in_space():
    for scale in range(3):
        transforms = morlet_transforms((40, 48), scale, 6)
        for index in range(6):
            expected = fft.fft2(morlet((40, 48), scale, index, 6))
            np.testing.assert_allclose(transforms[index], expected, atol=1e-10)


@pytest.mark.parametrize("stride", [1, 2, 4])
def test_moduli_on_a_coarse_grid_are_exact(stride):
    images = np.random.default_rng(0).standard_normal((3, 40, 48))
    transforms = morlet_transforms((40, 48), 1, 5)
    spectra = fft.fft2(images)
    fine = np.abs(fft.ifft2(spectra[:, None] * transforms))
    coarse = _moduli(spectra, _for_folding(transforms, stride), stride)
    np.testing.assert_allclose(coarse, fine[..., ::stride, ::stride], atol=1e-12)


def test_one_scale_equals_the_reference_to_rounding(digits):
    found = Scattering2D(1, 4).fit_transform(digits[:2]).reshape(2, -1, 16, 16)
    for image, values in zip(digits[:2], found, strict=True):
        expected = reference(image.reshape(32, 32), 1, 4)
        np.testing.assert_allclose(values, expected, atol=1e-12)


@pytest.mark.parametrize(("J", "L"), [(2, 4), (3, 8)])
def test_more_scales_equal_the_reference_up_to_aliasing(digits, J, L):
    found = Scattering2D(J, L).fit_transform(digits[:1]).reshape(-1, 32 >> J, 32 >> J)
    expected = reference(digits[0].reshape(32, 32), J, L)
    unaliased = slice(0, 1 + L)  # the image and its finest moduli, on the full grid
    np.testing.assert_allclose(found[unaliased], expected[unaliased], atol=1e-12)
    for part in (slice(1 + L, 1 + J * L), slice(1 + J * L, None)):
        error = np.linalg.norm(found[part] - expected[part])
        assert 0 < error < 0.015 * np.linalg.norm(expected[part])


@pytest.mark.parametrize(("J", "L"), [(2, 4), (3, 8), (4, 8)])
def test_filters_share_out_the_energy(J, L):
    size = 64
    window = gabor((size, size), 0.8 * 2 ** (J - 1), 0.0, 0.0, 1.0).real
    total = np.abs(fft.fft2(window / window.sum())) ** 2
    for scale in range(J):
        power = (morlet_transforms((size, size), scale, L) ** 2).sum(axis=0)
        mirrored = np.roll(power[::-1, ::-1], (1, 1), axis=(0, 1))
        total += (power + mirrored) / 2
    assert total.max() < 1.04
    frequency = 2 * np.pi * np.abs(fft.fftfreq(size))
    covered = np.hypot.outer(frequency, frequency) < np.pi
    assert total[covered].min() > 0.12


def test_transform_is_not_expansive(digits):
    other = np.random.default_rng(0).random(digits.shape)
    model = Scattering2D().fit(digits)
    gap = 8 * np.linalg.norm(model.transform(digits) - model.transform(other), axis=1)
    difference = np.pad(
        (digits - other).reshape(-1, 32, 32), ((0, 0), (8, 8), (8, 8)), mode="reflect"
    )
    assert (gap <= 1.02 * np.linalg.norm(difference, axis=(1, 2))).all()


@pytest.mark.parametrize(("pixels", "share"), [(1, 0.25), (2, 0.35)])
def test_shifts_change_features_far_less_than_pixels(digits, pixels, share):
    def change(before, after):
        gaps = np.linalg.norm(after - before, axis=1)
        return (gaps / np.linalg.norm(before, axis=1)).mean()

    shifted = np.roll(digits.reshape(-1, 32, 32), pixels, axis=2).reshape(20, -1)
    model = Scattering2D().fit(digits)
    features = change(model.transform(digits), model.transform(shifted))
    assert features < share * change(digits, shifted)


def test_quarter_turn_permutes_angles():
    # Samples at 0, 8, ..., 40 turn into each other; black edges hide the border.
    image = np.zeros((41, 41))
    image[16:25, 16:25] = np.random.default_rng(0).random((9, 9))
    model = Scattering2D().fit(image.reshape(1, -1))
    values, turned = (
        model.transform(pixels.reshape(1, -1)).reshape(model.output_shape_)
        for pixels in (image, np.rot90(image))
    )
    number = {path: place for place, path in enumerate(model.paths_)}
    for path, place in number.items():
        other = tuple((v + 4) % 8 if i % 2 else v for i, v in enumerate(path))
        np.testing.assert_allclose(
            turned[number[other]], np.rot90(values[place]), atol=1e-12
        )


def test_constant_image_has_no_waves():
    values = Scattering2D().fit_transform(np.full((1, 1024), 7.0)).reshape(217, 16)
    np.testing.assert_allclose(values[0], 7)
    np.testing.assert_allclose(values[1:], 0, atol=1e-12)


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_workers_do_not_change_a_bit(digits, n_jobs):
    many = np.tile(digits, (3, 1))
    one = Scattering2D(n_jobs=1).fit_transform(many)
    assert Scattering2D(n_jobs=n_jobs).fit_transform(many).tobytes() == one.tobytes()


@pytest.mark.parametrize("batch", [1, 3, 20])
def test_batches_do_not_change_results(digits, batch):
    images = digits.reshape(-1, 32, 32)
    plan = make_plan((32, 32), 3, 8, 2, "float64")
    parts = [scatter(images[i : i + batch], plan) for i in range(0, 20, batch)]
    whole = Scattering2D().fit_transform(digits).reshape(20, 217, 4, 4)
    np.testing.assert_allclose(np.concatenate(parts), whole, atol=1e-14)


def test_float32_stays_and_bytes_become_float32(digits):
    double = Scattering2D().fit_transform(digits)
    single = Scattering2D().fit_transform(digits.astype(np.float32))
    assert double.dtype == np.float64
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, double, atol=1e-6)
    grey = (16 * digits).astype(np.uint8)
    assert Scattering2D().fit_transform(grey).dtype == np.float32


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_path_maxima_become_one_and_rounding_errors_stay_small(digits, dtype):
    X = np.vstack([digits, np.zeros(1024), np.full(1024, 5.0)]).astype(dtype)
    scaled = Scattering2D(path_scaling="max").fit_transform(X).reshape(22, 217, 16)
    plain = Scattering2D().fit_transform(X).reshape(22, 217, 16)
    np.testing.assert_allclose(np.abs(scaled[:20]).max(axis=2), 1, rtol=1e-6)
    peaks = np.abs(plain[:20]).max(axis=2, keepdims=True)
    np.testing.assert_allclose(scaled[:20] * peaks, plain[:20], rtol=1e-5)
    np.testing.assert_array_equal(scaled[20], 0)
    assert np.abs(scaled[21, 1:]).max() < 1e-4


def test_padding_puts_images_in_the_middle():
    images = np.random.default_rng(0).random((2, 5, 6))
    framed = np.zeros((2, 8, 9))
    framed[:, 1:6, 1:7] = images
    padded = Scattering2D(2, 4, image_shape=(5, 6), pad_to=(8, 9))
    whole = Scattering2D(2, 4, image_shape=(8, 9))
    np.testing.assert_array_equal(
        padded.fit_transform(images.reshape(2, -1)),
        whole.fit_transform(framed.reshape(2, -1)),
    )
    assert padded.output_shape_ == (25, 2, 3)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({}, ValueError, "X has 12 features, not a square"),
        ({"image_shape": (3, 5)}, ValueError, r"\(3, 5\) does not hold n_features=12"),
        ({"image_shape": (-1, 5)}, ValueError, "does not hold n_features=12"),
        ({"image_shape": (-1, -1)}, ValueError, "does not hold n_features=12"),
        ({"image_shape": 12}, ValueError, "image_shape=12 is not a pair"),
        ({"image_shape": (3, 4), "pad_to": (2, 9)}, ValueError, "smaller than the im"),
        ({"J": 0}, ValueError, "J=0 is below 1"),
        ({"L": 2.0}, TypeError, "L=2.0 is float"),
        ({"order": 3}, ValueError, "order=3 is not known; choose 1 or 2"),
        ({"path_scaling": "sum"}, ValueError, "path_scaling='sum' is not known"),
        ({"n_jobs": 0}, ValueError, "n_jobs=0 is not a number"),
    ],
)
def test_bad_parameters_are_refused(parameters, error, message):
    with pytest.raises(error, match=message):
        Scattering2D(**parameters).fit(np.zeros((2, 12)))


def test_recipe_clusters_digits_in_a_pipeline():
    X, y = load_digits(return_X_y=True)
    X = X.astype(np.float32)
    parts = [
        Scattering2D(J=2, L=4, pad_to=(12, 12), path_scaling="max"),
        PrincipalComponents(60),
        UnitRows(),
        EKSS(10, 6, n_members=40, random_state=0),
    ]
    labels = make_pipeline(*map(clone, parts)).fit_predict(X)
    assert clustering_error(y, labels) < 0.25
    for part in parts[:-1]:
        X = part.fit_transform(X)
    np.testing.assert_array_equal(labels, parts[-1].fit_predict(X))
