"""ChaosBench's scores of two-dimensional fields, written out by other means than those of stp.

Equations are those of its text and appendix F (https://arxiv.org/abs/2402.00712).
"""

import numpy as np
from crps_reference import properscoring
from scipy.ndimage import correlate1d
from torch import tensor
from torch.nn import functional


def mean(field: np.ndarray, latitudes: np.ndarray) -> float:
    """Equation 1: the mean over the globe of (H, W), weighted by the cosine of latitude."""
    return float(np.average(field.mean(axis=1), weights=np.cos(np.deg2rad(latitudes))))


def rmse(p: np.ndarray, o: np.ndarray, latitudes: np.ndarray) -> float:
    """Equation S1."""
    return mean((p - o) ** 2, latitudes) ** 0.5


def acc(p: np.ndarray, o: np.ndarray, usual: np.ndarray, latitudes: np.ndarray) -> float:
    """Equation S3, each weight once."""
    p, o = p - usual, o - usual
    products = (mean(a * b, latitudes) for a, b in ((p, o), (p, p), (o, o)))
    po, pp, oo = products
    return po / (pp * oo) ** 0.5


def similarity(x: np.ndarray, y: np.ndarray, scales: int, *, joint: bool = False) -> float:
    """Equations S4 to S8 on one pair of fields, with torch's pooling, and scipy's windows.

    Each is rescaled by its own range, and odd sizes get zeros; joint: both by that of y, and the
    first row or column is repeated.
    """
    taps = np.exp(-0.5 * (np.arange(11) - 5) ** 2 / 1.5**2)
    taps /= taps.sum()

    def blurred(a: np.ndarray) -> np.ndarray:
        for axis in (0, 1):
            if a.shape[axis] >= 11:
                a = correlate1d(a, taps, axis=axis).take(range(5, a.shape[axis] - 5), axis=axis)
        return a

    def halved(a: np.ndarray) -> np.ndarray:
        padding = [size % 2 for size in a.shape]
        if joint:
            a, padding = np.pad(a, [(size, 0) for size in padding], mode="edge"), [0, 0]
        return functional.avg_pool2d(tensor(a[None]), 2, padding=padding)[0].numpy()

    x, y = x.astype(float), y.astype(float)
    x, y = (255 * (a - of.min()) / np.ptp(of) for a, of in ((x, y if joint else x), (y, y)))
    weights = np.array([0.0448, 0.2856, 0.3001, 0.2363, 0.1333][:scales])
    if scales < 5:  # all five sum to 1.0001, as printed
        weights /= weights.sum()
    product, c1, c2 = 1.0, (0.01 * 255) ** 2, (0.03 * 255) ** 2
    for scale, weight in enumerate(weights):
        mx, my = blurred(x), blurred(y)
        vx, vy = blurred(x * x) - mx * mx, blurred(y * y) - my * my
        term = (2 * (blurred(x * y) - mx * my) + c2) / (vx + vy + c2)
        if scale == scales - 1:
            term *= (2 * mx * my + c1) / (mx * mx + my * my + c1)
        product *= max(term.mean(), 0) ** weight
        x, y = halved(x), halved(y)
    return float(product)


def spectrum(field: np.ndarray) -> np.ndarray:
    """Equations S9 to S13 with bins by np.histogram: mean power in the last tenth of them."""
    power = np.abs(np.fft.fft2(field)) ** 2
    ky, kx = (np.fft.fftfreq(n, 1 / n) for n in field.shape)
    k = np.hypot(ky[:, None], kx).ravel()
    count = len(np.arange(0.5, k.max(), 1))
    total, edges = np.histogram(k, count, (0.5, k.max()), weights=power.ravel())
    cells = np.histogram(k, edges)[0]
    kept = slice(int(count * 0.9), None)
    return total[kept] / cells[kept]


def divergence(p: np.ndarray, o: np.ndarray) -> float:
    """Equation 2, of fields."""
    p, o = (spectrum(field) / spectrum(field).sum() for field in (p, o))
    return float(sum(a * np.log(a / b) for a, b in zip(o, p, strict=True)))


def residual(p: np.ndarray, o: np.ndarray) -> float:
    """Equation 3, of fields."""
    p, o = (spectrum(field) / spectrum(field).sum() for field in (p, o))
    return float(np.mean((o - p) ** 2) ** 0.5)


def crps(members: np.ndarray, o: np.ndarray, latitudes: np.ndarray, *, fair: bool) -> float:
    """Equation S20 of (M, H, W) at each point; fair: pairs of a member with itself do not count."""
    count = len(members)
    pairs = sum(np.abs(a - b) for a in members for b in members)
    pairs = pairs / (2 * count * (count - 1 if fair else count))
    return mean(np.abs(members - o).mean(axis=0) - pairs, latitudes)


def crps_of_normal(
    usual: np.ndarray, deviation: np.ndarray, o: np.ndarray, latitudes: np.ndarray
) -> float:
    """Of the climatology of equation S21."""
    return mean(properscoring.crps_gaussian(o, usual, deviation), latitudes)


def rps(
    members: np.ndarray, o: np.ndarray, terciles: np.ndarray, latitudes: np.ndarray, *, fair: bool
) -> tuple[float, float]:
    """Ranked probability score of terciles (2, H, W), and that of thirds."""
    forecast, usual = np.zeros(o.shape), np.zeros(o.shape)
    for limit, third in zip(terciles, (1 / 3, 2 / 3), strict=True):
        share = (members <= limit).mean(axis=0)
        forecast += (share - (o <= limit)) ** 2
        forecast -= share * (1 - share) / (len(members) - 1) if fair else 0
        usual += (third - (o <= limit)) ** 2
    return mean(forecast, latitudes), mean(usual, latitudes)
