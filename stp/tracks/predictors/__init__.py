"""Predictors of people: one module for each, named in ``config/models``.

A predictor is a module with

``Parameters``
    a frozen dataclass of the options of the configuration, with defaults for all fields;
``SEARCH``
    smallest and largest value of each parameter that a calibration searches, by name; may be empty;
``predict(scenarios, steps, parameters, obstacles=None, jitter=None)``
    which predicts N people in S scenarios (`stp.tracks.scenarios.Scenarios`) at T steps, and
    returns one of

    - positions: an array (S, N, T, 2), metres, NaN for absent people;
    - K samples of positions: an array (K, S, N, T, 2);
    - a `stp.tracks.densities.Mixture` of Gaussians for each person and step; displacement errors
      use its point prediction, the mean of the component with the largest weight;
    - a `stp.tracks.densities.Grid` with the probability of each cell for each person and step; its
      point prediction is the centre of the most probable cell.

    Jitter, (S, N, T, 2) in metres, is noise that moves people at each step, to get samples from a
    predictor of positions. With jitter, the function returns positions.

A module may also have

``draw(scenarios, steps, parameters, obstacles, samples, seed)``
    draws samples, (K, S, N, T, 2), in place of jittered positions;
``network(parameters, dt)`` and ``Objective(parameters)``
    a network and its loss, trained by gradient descent (`stp.train.learning`) instead of a search;
``load(path, parameters)``
    reads trained or released weights; ``predict`` and ``draw`` get its result as ``parameters``.

`stp.train.calibrated` finds parameters, `stp.predict.motion` writes predictions, and
`stp.score.motion` scores them.
"""
