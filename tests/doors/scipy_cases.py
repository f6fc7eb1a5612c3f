"""Calls of SciPy's functions that accept arrays of any namespace, written as a user writes them.

Each is run on arrays and on Tensors in a process of its own, where ``SCIPY_ARRAY_API=1`` is set before SciPy is
imported.  The names of the arrays are those below; every floating-point or complex one that a call names is
differentiated.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from doors.numpy_cases import values as numpys_values
from doors.numpy_cases import words
from pullback.ops.registry import Make


def values() -> dict[str, Any]:
    """The arrays by their names, the same each time."""
    make = Make(1)
    found = numpys_values()
    found |= {
        "e": np.asarray(0.7),  # a number between 0 and 1
        "l": make(8),  # a signal
        "L": make(2, 8),
        "S": make(8, low=0.5, high=3.0),  # a positive one
        "o": make(9, low=0.5, high=3.0),  # an odd number of samples
        "g": np.linspace(0.0, 2.0, 9) + make(9, low=0.01, high=0.05),  # places, increasing
        "P": make(12, low=0.05, high=0.95),  # probabilities
        "A": make(7),
        "B": make(7, low=-1.0, high=3.0),
        "C": make(6, low=0.2, high=1.0),
        "G": make(2, 7),
        "Q": make(3, 4),  # quaternions
        "q1": make(4),
        "T": make(3, low=0.2, high=0.5),  # small angles
        "V": make(3, 3),
        "D": make(5, 8),  # dual quaternions
        "E": make(3, 6),  # exponential coordinates
        "z3": np.asarray([0.3, -0.5 + 0.4j, -0.5 - 0.4j]),
        "p3": np.asarray([-0.2 + 0.5j, -0.2 - 0.5j, 0.6]),
        "sos": np.asarray([[1.0, 0.3, 0.2, 1.0, -0.4, 0.2], [0.7, 0.2, 0.1, 1.0, 0.3, 0.4]]),
        "num": np.asarray([0.6, 0.3, 0.1]),
        "den": np.asarray([1.0, -0.5, 0.3]),
    }
    return found


#: Functions of SciPy that never convert their arguments, as found by running SciPy's own tests on arrays that log it: with a
#: real or complex array argument and a floating-point result.  The last lines ask the namespace of Tensors for `special`.
PURE = {
    "fft": words("""fft ifft fft2 ifft2 fftn ifftn rfft irfft rfft2 irfft2 rfftn irfftn hfft ihfft hfft2 ihfft2 hfftn
        ihfftn fftshift ifftshift fht ifht"""),
    "cluster": words("whiten"),
    "constants": words("convert_temperature lambda2nu nu2lambda"),
    "differentiate": words("derivative hessian jacobian"),
    "integrate": words("cubature cumulative_simpson cumulative_trapezoid romb trapezoid nsum tanhsinh"),
    "linalg": words("orthogonal_procrustes block_diag fiedler"),
    "optimize": words("""bracket_minimum bracket_root find_minimum find_root rosen rosen_der rosen_hess
        rosen_hess_prod"""),
    "special": words("""log_softmax logsumexp softmax xlogy rel_entr
        erf kl_div entr logit expit gammaln betainc stdtr ndtr log_ndtr ndtri chdtr chdtrc gammainc gammaincc i0 i0e i1
        i1e zeta multigammaln sinc psi digamma polygamma expm1 log1p"""),
    "stats": words("""circmean circstd circvar differential_entropy gmean hmean iqr kstat kstatvar kurtosis
        median_abs_deviation mode moment pmean sem skew tmax tmean tmin trim_mean tsem tstd tvar variation boxcox_llf
        directional_stats false_discovery_control yeojohnson_llf monte_carlo_test permutation_test describe gstd gzscore
        rankdata sigmaclip zmap zscore
        alexandergovern bartlett brunnermunzel chatterjeexi chisquare combine_pvalues entropy epps_singleton_2samp
        f_oneway fligner friedmanchisquare jarque_bera kruskal kurtosistest levene lmoment mood normaltest pearsonr
        power_divergence quantile bootstrap skewtest spearmanrho ttest_1samp ttest_ind ttest_ind_from_stats"""),
    "signal": words("""abcd_normalize bilinear_zpk envelope fftconvolve freqs freqs_zpk freqz freqz_sos freqz_zpk
        gauss_spline hilbert hilbert2 lfiltic lp2bp lp2bp_zpk lp2bs lp2bs_zpk lp2hp lp2hp_zpk lp2lp lp2lp_zpk
        minimum_phase normalize oaconvolve resample sos2zpk tf2zpk vectorstrength
        exponential gaussian general_cosine general_gaussian"""),
    "Rotation": words("""apply as_davenport as_euler as_matrix as_mrp as_quat as_rotvec inv magnitude mean reduce Slerp
        align_vectors concatenate from_davenport from_euler from_matrix from_mrp from_quat from_rotvec"""),
    "RigidTransform": words("""apply as_components as_dual_quat as_exp_coords inv mean rotation concatenate
        from_components from_dual_quat from_exp_coords from_matrix from_rotation from_translation"""),
}
#: Also pure, and without anything to differentiate.
NOTHING_TO_DIFFERENTIATE = {
    "windows of a given length, and filters from numbers": words("""barthann bartlett blackman blackmanharris bohman
        boxcar chebwin cosine flattop general_hamming hamming hann lanczos nuttall parzen taylor triang tukey iircomb
        savgol_coeffs"""),
    "true or false, or a tree of Python numbers": words("""correspond dendrogram is_isomorphic is_monotonic is_valid_im
        is_valid_linkage num_obs_linkage to_mlab_linkage to_tree approx_equal"""),
    "a function that is to be integrated with numbers of its own": words("qmc_quad"),
}

# fmt: off
#: Calls whose results are differentiable in the arrays that they name, by the part of SciPy.
DIFFERENTIABLE = {
    "fft": [
        "fft.fft(l)",
        "fft.ifft(c)",
        "fft.fft2(x)",
        "fft.ifft2(d)",
        "fft.fftn(z)",
        "fft.ifftn(d)",
        "fft.rfft(l)",
        "fft.irfft(c)",
        "fft.rfft2(L)",
        "fft.irfft2(d)",
        "fft.rfftn(z)",
        "fft.irfftn(d)",
        "fft.hfft(c)",
        "fft.ihfft(l)",
        "fft.hfft2(d)",
        "fft.ihfft2(x)",
        "fft.hfftn(d)",
        "fft.ihfftn(x)",
        "fft.fftshift(l)",
        "fft.ifftshift(l)",
        "fft.fht(l, 0.1, 0.2)",
        "fft.ifht(l, 0.1, 0.2)",
        "fft.fft(l, n=5, norm='ortho')",
    ],
    "special": [
        "special.logsumexp(x, axis=1)",
        "special.softmax(x, axis=1)",
        "special.log_softmax(x, axis=1)",
        "special.xlogy(p, p)",
        "special.rel_entr(p, p[::-1, :])",
        "special.erf(x)",
        "special.kl_div(p, p + 1)",
        "special.entr(p)",
        "special.logit(q)",
        "special.expit(x)",
        "special.gammaln(p)",
        "special.betainc(2.0, 3.0, q)",
        "special.stdtr(3.0, x)",
        "special.ndtr(x)",
        "special.log_ndtr(x)",
        "special.ndtri(q)",
        "special.chdtr(3.0, p)",
        "special.chdtrc(3.0, p)",
        "special.gammainc(2.0, p)",
        "special.gammaincc(2.0, p)",
        "special.i0(x)",
        "special.i0e(x)",
        "special.i1(x)",
        "special.i1e(x)",
        "special.multigammaln(p + 2, 2)",
        "special.sinc(p)",
        "special.psi(p)",
        "special.digamma(p)",
        "special.polygamma(1, p)",
        "special.expm1(x)",
        "special.log1p(p)",
        "special.fdtr(3.0, 4.0, p)",
        "special.fdtrc(3.0, 4.0, p)",
        "special.pdtr(2.0, p)",
        "special.pdtrc(2.0, p)",
        "special.pdtri(2.0, q)",
        "special.bdtr(2.0, 5, q)",
        "special.bdtrc(2.0, 5, q)",
        "special.betaincc(2.0, 3.0, q)",
        "special.betaincinv(2.0, 3.0, q)",
        "special.gammaincinv(2.0, q)",
        "special.chdtri(2.0, q)",
        "special.fdtri(3.0, 4.0, q)",
        "special.stdtrit(3.0, q)",
        "special.kolmogorov(p)",
        "special.smirnov(4, q)",
        "special.hyp2f1(1.0, 2.0, 3.0, q)",
        "special.zeta(const(2.5), p)",
    ],
    "constants": [
        "constants.convert_temperature(x, 'Celsius', 'Fahrenheit')",
        "constants.lambda2nu(p)",
        "constants.nu2lambda(p)",
    ],
    "cluster": [
        "cluster.vq.whiten(xp.stack([v, t]).T)",
    ],
    "linalg": [
        "linalg.block_diag(x, m)",
        "linalg.fiedler(v)",
        "linalg.orthogonal_procrustes(a, h)",
    ],
    "optimize": [
        "optimize.rosen(v)",
        "optimize.rosen_der(v)",
        "optimize.rosen_hess(v)",
        "optimize.rosen_hess_prod(v, t)",
        "elementwise.find_root(lambda t, k: t**3 - k, (xp.zeros_like(w), 3 * xp.ones_like(w)), args=(w**2 + 0.1,)).x",
        "elementwise.find_minimum(lambda t, k: (t - k)**2, (w - 2, w - 0.5, w + 2), args=(w,)).x",
        "elementwise.bracket_root(lambda t, k: t**3 - k, w - 1, w + 1, args=(w,)).bracket",
        "elementwise.bracket_minimum(lambda t, k: (t - k) ** 2, w, args=(w + 0.3,)).bracket",
    ],
    "integrate": [
        "integrate.trapezoid(l)",
        "integrate.trapezoid(o, x=g)",
        "integrate.trapezoid(L, dx=0.5, axis=0)",
        "integrate.cumulative_trapezoid(o, x=g)",
        "integrate.cumulative_trapezoid(l, initial=0)",
        "integrate.cumulative_simpson(o, x=g)",
        "integrate.cumulative_simpson(o, dx=0.3)",
        "integrate.romb(o)",
        "integrate.tanhsinh(lambda t, k: k * t**2, xp.zeros_like(w), q, args=(w,)).integral",
        "integrate.nsum(lambda k, c: c / k**4, xp.ones_like(w), np.inf * xp.ones_like(w), args=(w,)).sum",
        "integrate.cubature(lambda t, k: xp.sum(t**2, axis=-1)[..., None] * k, const([0.0, 0.0]), "
        "const([1.0, 1.0]), args=(w,)).estimate",
    ],
    "differentiate": [
        "differentiate.derivative(lambda t: t**3, v).df",
        "differentiate.jacobian(lambda t: t**3, v).df",
        "differentiate.hessian(lambda t: xp.sum(t**3, axis=0), w).ddf",
    ],
    "stats": [
        "stats.circmean(x)",
        "stats.circmean(x, axis=1)",
        "stats.circstd(x, axis=1)",
        "stats.circvar(x, axis=1)",
        "stats.differential_entropy(l)",
        "stats.gmean(p, axis=1)",
        "stats.gmean(p, axis=1, weights=p)",
        "stats.hmean(p, axis=1)",
        "stats.pmean(p, 2.5, axis=1)",
        "stats.iqr(x, axis=1)",
        "stats.kstat(l, 3)",
        "stats.kstat(l, 4)",
        "stats.kstatvar(l, 2)",
        "stats.kurtosis(x, axis=1)",
        "stats.kurtosis(l, bias=False)",
        "stats.skew(x, axis=1)",
        "stats.skew(l, bias=False)",
        "stats.median_abs_deviation(x, axis=1)",
        "stats.mode(x, axis=1)",
        "stats.moment(x, 3, axis=1)",
        "stats.sem(x, axis=1)",
        "stats.tmax(x, axis=1)",
        "stats.tmin(x, axis=1)",
        "stats.tmean(x, limits=(-1.5, 1.5))",
        "stats.tsem(l)",
        "stats.tstd(l)",
        "stats.tvar(l)",
        "stats.tvar(l, limits=(-1.9, 1.9))",
        "stats.trim_mean(l, 0.2)",
        "stats.variation(p, axis=1)",
        "stats.boxcox_llf(0.4, S)",
        "stats.yeojohnson_llf(0.4, S)",
        "stats.directional_stats(V).mean_direction",
        "stats.directional_stats(V).mean_resultant_length",
        "stats.false_discovery_control(P**3)",
        "stats.false_discovery_control(P, method='by')",
        "stats.describe(x, axis=1)",
        "stats.gstd(p, axis=1)",
        "stats.gzscore(p, axis=1)",
        "stats.sigmaclip(l, 1.5, 1.5)",
        "stats.zmap(x, y)",
        "stats.zscore(x, axis=1)",
        "stats.monte_carlo_test(A, lambda size: xp.ones(size), lambda t, axis: np.mean(t, axis=axis), "
        "n_resamples=9, vectorized=True).statistic",
        "stats.permutation_test((A, B), lambda a, b, axis: np.mean(a, axis=axis) - np.mean(b, "
        "axis=axis), n_resamples=9, vectorized=True, rng=1).statistic",
        "stats.bootstrap((A,), lambda t, axis: np.mean(t, axis=axis), n_resamples=9, "
        "method='percentile', rng=1).standard_error",
        "stats.alexandergovern(A, B).statistic",
        "stats.bartlett(A, B)",
        "stats.chisquare(S)",
        "stats.combine_pvalues(P)",
        "stats.combine_pvalues(P, method='stouffer')",
        "stats.combine_pvalues(P, method='pearson')",
        "stats.combine_pvalues(P, method='tippett')",
        "stats.combine_pvalues(P, method='mudholkar_george')",
        "stats.entropy(p, axis=1)",
        "stats.entropy(p, p[:, ::-1], axis=1)",
        "stats.epps_singleton_2samp(A, B)",
        "stats.f_oneway(A, B)",
        "stats.jarque_bera(l)",
        "stats.kurtosistest(L, axis=1)",
        "stats.levene(A, B)",
        "stats.lmoment(l)",
        "stats.normaltest(L, axis=1)",
        "stats.power_divergence(S, lambda_=0.5)",
        "stats.quantile(l, 0.3)",
        "stats.quantile(x, const([[0.3, 0.6]]), axis=1)",
        "stats.skewtest(L, axis=1)",
        "stats.ttest_1samp(A, 0.3)",
        "stats.ttest_1samp(A, e)",
        "stats.ttest_1samp(A, 0.3).confidence_interval()",
        "stats.ttest_ind(A, B)",
        "stats.ttest_ind(A, B).confidence_interval()",
        "stats.ttest_rel(A, B)",
        "stats.ttest_ind_from_stats(w, q, const(7.0), w + 1, q + 0.1, const(9.0))",
        "stats.pearsonr(A, B)",
        "stats.pearsonr(A, B).confidence_interval()",
    ],
    "Rotation": [
        "Rotation.from_quat(Q).as_quat()",
        "Rotation.from_quat(Q).as_matrix()",
        "Rotation.from_quat(Q).as_rotvec()",
        "Rotation.from_quat(Q).as_mrp()",
        "Rotation.from_quat(Q).as_euler('xyz')",
        "Rotation.from_quat(Q).as_davenport([[1., 0, 0], [0, 1., 0], [0, 0, 1.]], 'extrinsic')",
        "Rotation.from_quat(q1).as_matrix()",
        "Rotation.from_quat(Q).inv().as_quat()",
        "(Rotation.from_quat(Q) * Rotation.from_quat(q1)).as_quat()",
        "(Rotation.from_quat(Q) ** 2.5).as_quat()",
        "Rotation.from_quat(Q).magnitude()",
        "Rotation.from_quat(Q).mean().as_matrix()",
        "Rotation.from_quat(Q)[1].as_matrix()",
        "Rotation.from_quat(Q).apply(V)",
        "Rotation.from_quat(Q).apply(V, inverse=True)",
        "Rotation.from_quat(Q).reduce().as_quat()",
        "Rotation.concatenate([Rotation.from_quat(Q), Rotation.from_quat(q1)]).as_matrix()",
        "[r.as_matrix() for r in Rotation.from_quat(Q)]",
        "Rotation.from_rotvec(T).as_matrix()",
        "Rotation.from_rotvec(V).as_quat()",
        "Rotation.from_mrp(T).as_matrix()",
        "Rotation.from_euler('xyz', T).as_matrix()",
        "Rotation.from_euler('zx', V[:, :2]).as_quat()",
        "Rotation.from_davenport(const([[1.0, 0, 0], [0, 1.0, 0]]), 'extrinsic', T[:2]).as_matrix()",
        "Rotation.from_matrix(Rotation.from_quat(Q).as_matrix()).as_rotvec()",
        "Rotation.from_matrix(a * 1.0).as_matrix()",
        "Rotation.align_vectors(V, a)[0].as_matrix()",
        "Rotation.align_vectors(V, V[::-1, :])[1]",
        "Slerp(const([0.0, 1.0, 2.0]), Rotation.from_quat(Q))(q).as_matrix()",
        "Rotation.from_quat(Q).mean().as_matrix()",
    ],
    "RigidTransform": [
        "RigidTransform.from_translation(V).as_matrix()",
        "RigidTransform.from_rotation(Rotation.from_quat(Q)).as_matrix()",
        "RigidTransform.from_components(V, Rotation.from_quat(Q)).as_matrix()",
        "RigidTransform.from_components(V, Rotation.from_quat(Q)).as_components()[0]",
        "RigidTransform.from_components(V, Rotation.from_quat(Q)).as_dual_quat()",
        "RigidTransform.from_components(V, Rotation.from_quat(Q)).as_exp_coords()",
        "RigidTransform.from_components(V, Rotation.from_quat(Q)).inv().as_matrix()",
        "RigidTransform.from_components(V, Rotation.from_quat(Q)).apply(V)",
        "(RigidTransform.from_components(V, Rotation.from_quat(Q)) * RigidTransform.from_translation(w)).as_matrix()",
        "(RigidTransform.from_components(V, Rotation.from_quat(Q)) ** 2.5).as_matrix()",
        "RigidTransform.from_components(V, Rotation.from_quat(Q)).mean().as_matrix()",
        "RigidTransform.from_components(V, Rotation.from_quat(Q)).rotation.as_quat()",
        "RigidTransform.from_components(V, Rotation.from_quat(Q)).translation",
        "RigidTransform.from_components(V, Rotation.from_quat(Q))[1].as_matrix()",
        "RigidTransform.concatenate([RigidTransform.from_translation(V), "
        "RigidTransform.from_translation(w)]).as_matrix()",
        "RigidTransform.from_exp_coords(E).as_matrix()",
        "RigidTransform.from_dual_quat(D).as_matrix()",
        "RigidTransform.from_matrix(RigidTransform.from_exp_coords(E).as_matrix()).as_exp_coords()",
    ],
    "signal": [
        "signal.hilbert(l)",
        "signal.hilbert2(x)",
        "signal.envelope(l)[0]",
        "signal.fftconvolve(l, w)",
        "signal.fftconvolve(l, w, mode='same')",
        "signal.oaconvolve(l, w)",
        "signal.resample(l, 5)",
        "signal.freqs(num, den, worN=const([0.5, 1.0]))[1]",
        "signal.freqs_zpk(z3, p3, 1.5, worN=const([0.5, 1.0]))[1]",
        "signal.freqz(num, den, worN=5)[1]",
        "signal.freqz(num, 1, worN=5)[1]",
        "signal.freqz_zpk(z3, p3, 1.5, worN=5)[1]",
        "signal.freqz(num, den, worN=q)",
        "signal.abcd_normalize(A=a, B=V[:, :1], C=x[:1, :], D=x[:1, :1])",
        "signal.bilinear_zpk(z3, p3, 1.5, 2.0)",
        "signal.gauss_spline(x, 3)",
        "signal.lfiltic(num, den + 0.2, w[:2])",
        "signal.lp2bp(num, den, 1.0, 0.5)",
        "signal.lp2bs(num, den, 1.0, 0.5)",
        "signal.lp2hp(num, den, 1.5)",
        "signal.lp2lp(num, den, 1.5)",
        "signal.lp2bp_zpk(z3 + 0.2j, p3 + 0.2j, 1.5, 1.0, 0.5)",
        "signal.lp2bs_zpk(z3 + 0.2j, p3 + 0.2j, 1.5, 1.0, 0.5)",
        "signal.lp2hp_zpk(z3, p3, 1.5, 1.3)",
        "signal.lp2lp_zpk(z3, p3, 1.5, 1.3)",
        "signal.minimum_phase(xp.concat([C[:2] / 5, const([1.0]), xp.flip(C[:2]) / 5]))",
        "signal.normalize(num, den)",
        "signal.sos2zpk(sos)",
        "signal.tf2zpk(num, den)",
        "signal.vectorstrength(l, 1.3)",
        "signal.windows.gaussian(7, s)",
        "signal.windows.general_gaussian(7, 1.5, e)",
        "signal.windows.exponential(7, None, e)",
        "signal.windows.general_cosine(7, w)",
        "signal.windows.tukey(7, e)",
        "signal.freqz_sos(sos / sos[:, 3:4], worN=5)[1]",
    ],
}

#: Statistics of ranks and signs: steps, whose results have no gradient.
CONSTANT = [
    "stats.rankdata(x)",
    "stats.brunnermunzel(A, B)",
    "stats.chatterjeexi(A, B)",
    "stats.fligner(A, B)",
    "stats.friedmanchisquare(A, B, l[:7])",
    "stats.kruskal(A, B)",
    "stats.mood(A, B)",
    "stats.spearmanrho(A, B)",
    "stats.wilcoxon(A)",
    "stats.mannwhitneyu(A, B)",
    "stats.ansari(A, B)",
    "[stats.cramervonmises_2samp(A, B).statistic, stats.cramervonmises_2samp(A, B).pvalue]",
]

#: Functions that convert their arguments to NumPy arrays or numbers behind the user's back: refused, with the way out.
REFUSED = [
    "stats.ks_1samp(A, stats.norm.cdf)",
    "stats.gaussian_kde(A)(B)",
    "stats.norm.cdf(x)",
    "stats.norm.logpdf(x)",
    "signal.windows.general_hamming(7, e)",
    "signal.windows.chebwin(7, 60 + s)",
    "signal.windows.kaiser(7, s)",
    "signal.convolve(l, w)",
    "signal.lfilter(num, den, l)",
    "signal.detrend(l)",
    "signal.correlate(l, w)",
    "signal.resample_poly(l, 2, 3)",
    "fft.dct(l)",
    "fft.idct(l)",
    "fft.dst(l)",
    "fft.dctn(x)",
    "stats.boxcox_llf(e, S)",
    "ndimage.gaussian_filter(x, 1.0)",
    "ndimage.convolve(l, w)",
    "ndimage.map_coordinates(x, m.T[:, :2])",
    "ndimage.zoom(l, 2)",
    "interpolate.CubicSpline(g, o)",
    "interpolate.make_interp_spline(g, o)",
    "interpolate.PchipInterpolator(g, o)",
    "interpolate.RegularGridInterpolator((g,), o)",
    "cluster.hierarchy.linkage(V)",
    "cluster.vq.kmeans2(G.T, 2, minit='points', rng=0)",
    "spatial.distance.pdist(V)",
    "spatial.distance.cdist(V, V)",
    "spatial.ConvexHull(G.T)",
    "linalg.solve(a, w)",
    "linalg.expm(a)",
    "linalg.inv(a)",
    "linalg.svd(a)",
    "signal.sosfilt(sos, l)",
    "signal.filtfilt(num, den, o)",
    "signal.savgol_filter(o, 5, 2)",
    "signal.medfilt(l)",
    "signal.firwin2(9, const([0.0, 0.5, 1.0]), w)",
    "signal.upfirdn(w, l)",
    "signal.wiener(l)",
    "optimize.linear_sum_assignment(a)",
    "stats.multivariate_normal.pdf(x)",
    "special.spherical_jn(1, p)",
    "special.sph_harm_y(1, 1, p, p)",
    "special.legendre_p(2, x)",
    "special.factorial(p)",
    "special.comb(p, 1)",
    "special.perm(p, 1)",
    "special.diric(x, 3)",
    "integrate.quad(lambda t: t * s, 0, 1)",
    "integrate.odeint(lambda y, t: -y, w, [0, 1])",
    "integrate.solve_ivp(lambda t, y: -y, (0, 1), w)",
    "optimize.minimize(lambda t: t @ t, w)",
    "optimize.root(lambda t: t, w)",
]

#: Refused before SciPy 1.18, differentiable since; and the other way round.
SINCE_1_18 = [
    "stats.linregress(A, B)",
    "stats.obrientransform(A, B)",
    "integrate.simpson(o, x=g)",
    "integrate.simpson(o)",
]
UNTIL_1_18 = ["stats.yeojohnson_llf(e, S)"]

#: scikit-learn, with array_api_dispatch.
SKLEARN = [
    "preprocessing.StandardScaler().fit(G.T).transform(L.T)",
    "preprocessing.StandardScaler().fit_transform(G.T)",
    "preprocessing.MinMaxScaler().fit(G.T).transform(L.T)",
    "preprocessing.MaxAbsScaler().fit_transform(G.T)",
    "preprocessing.Normalizer().fit_transform(L.T)",
    "preprocessing.normalize(L.T)",
    "preprocessing.PolynomialFeatures(2).fit_transform(L.T)",
    "preprocessing.KernelCenterer().fit_transform(metrics.pairwise.linear_kernel(L.T))",
    "decomposition.PCA(2, svd_solver='full').fit(G.T).explained_variance_",
    "decomposition.PCA(2, svd_solver='covariance_eigh').fit(G.T).explained_variance_",
    "linear_model.Ridge(0.5, solver='svd').fit(G.T, A).coef_",
    "linear_model.Ridge(0.5, solver='svd').fit(G.T, A).predict(L.T)",
    "naive_bayes.GaussianNB().fit(G.T, const([0, 1, 0, 1, 1, 0, 1])).predict_proba(L.T)",
    "mixture.GaussianMixture(1, init_params='random', random_state=0).fit(G.T).means_",
    "metrics.pairwise.euclidean_distances(x, V)",
    "metrics.pairwise.manhattan_distances(x, V)",
    "metrics.pairwise.cosine_distances(x, V)",
    "metrics.pairwise.cosine_similarity(x, V)",
    "metrics.pairwise.rbf_kernel(x, V, gamma=0.3)",
    "metrics.pairwise.linear_kernel(x, V)",
    "metrics.pairwise.polynomial_kernel(x, V)",
    "metrics.pairwise.sigmoid_kernel(x, V)",
    "metrics.pairwise.laplacian_kernel(x, V)",
    "metrics.pairwise.chi2_kernel(p, p + 0.1)",
    "metrics.pairwise.additive_chi2_kernel(p, p + 0.1)",
    "metrics.pairwise.paired_euclidean_distances(x, y)",
    "metrics.pairwise.pairwise_distances(x, V, metric='euclidean')",
    "kernel_approximation.Nystroem(n_components=2, random_state=0).fit_transform(G.T)",
    "model_selection.train_test_split(G.T, test_size=0.25, random_state=0)",
]
SKLEARN_REFUSED = [
    "linear_model.LinearRegression().fit(G.T, A)",
    "linear_model.LogisticRegression().fit(G.T, const([0, 1, 0, 1, 1, 0, 1]))",
    "preprocessing.scale(G.T)",
    "metrics.mean_squared_error(A, B)",
    "metrics.mean_absolute_error(A, B)",
    "metrics.r2_score(A, B)",
    "metrics.log_loss(const([0, 1, 0, 1, 1, 0, 1]), P[:7])",
    "gaussian_process.kernels.RBF(1.0)(V)",
]
# fmt: on
CONSUMERS = {"SKLEARN": SKLEARN, "SKLEARN_REFUSED": SKLEARN_REFUSED}
GROUPS: dict[str, list[str]] = {
    **DIFFERENTIABLE,
    "CONSTANT": CONSTANT,
    "REFUSED": REFUSED,
    "SINCE_1_18": SINCE_1_18,
    "UNTIL_1_18": UNTIL_1_18,
}
