"""Predictors of people: each is one file here, and a name in ``config/models``.

A predictor is a module with

``Parameters``
    a frozen dataclass whose fields all have defaults: what its configuration may set;
``SEARCH``
    names of parameters that a calibration looks for, each with its least and greatest value;
    empty if there are none;
``predict(scenarios, steps, parameters, obstacles=None, jitter=None)``
    which says where the people of `stp.tracks.scenarios.Scenarios` go. It returns one of

    - points: an array (S, N, T, 2), metres, NaN for absent people;
    - samples: an array (K, S, N, T, 2);
    - a `stp.tracks.densities.Mixture` of Gaussians for each person and step; its stated point, the
      mean of the heaviest component, is what displacement errors are computed from;
    - a `stp.tracks.densities.Grid` with the probability of each cell for each person and step; its
      stated point is the centre of the likeliest cell.

    Jitter, (S, N, T, 2) in metres, is noise that moves people at each step: so a predictor of
    points has samples. With jitter it returns points.

It may also have

``draw(scenarios, steps, parameters, obstacles, samples, seed)``
    its own samples, (K, S, N, T, 2), instead of jittered ones;
``network(parameters, dt)`` and ``Objective(parameters)``
    a network and its loss, trained by gradient descent (`stp.train.learning`) instead of a search;
``load(path, parameters)``
    reads weights, those that a training has stored or that somebody has released; what it returns
    is what ``predict`` and ``draw`` are given as ``parameters``.

Nothing else has to be changed: `stp.train.calibrated` finds its parameters, `stp.predict.motion`
writes what it says, and `stp.score.motion` scores it.
"""
