"""The preprocessing of Atlas' released code once more, in plain loops: slow, and easy to check.

Written from what it does (its order, its rounding and its oversights), with lists of numbers.
"""

Row = tuple[float, int, float, float]
"""Frame, person, x, y."""


def behind_each_other(files: list[list[Row]]) -> list[Row]:
    """The frame numbers of a file are raised by 1.01 times the last one of the file before."""
    rows: list[Row] = []
    counter = 0.0
    for file in files:
        moved = [(frame + counter, person, x, y) for frame, person, x, y in file]
        counter = 1.01 * int(max(row[0] for row in moved))
        rows += moved
    return rows


def fill(track: list[list[float]], interval: int, frequency: float) -> list[list[float]]:
    """Fill gaps of up to 4 s; all intervals but the last are looked at."""
    if len(track) < 3:
        return track
    gaps = [track[i + 1][0] - track[i][0] for i in range(len(track) - 2)]
    longest = int(4 * frequency * interval + 1e-9)
    filled = [track[0]]
    for i in range(len(track) - 1):
        before, after = track[i], track[i + 1]
        if i < len(gaps) and gaps[i] != min(gaps) and gaps[i] <= longest:
            parts = int(gaps[i] / interval + 1) - 1
            for k in range(1, parts):
                filled.append([a + (b - a) * k / parts for a, b in zip(before, after, strict=True)])
        filled.append(after)
    return filled


def average(piece: list[list[float]], width: int) -> list[list[float]]:
    """Mean of ``width`` positions around each but the first and last few."""
    if len(piece) <= width:
        return piece
    half = width // 2
    smooth = []
    for i, (frame, x, y) in enumerate(piece):
        if half <= i < len(piece) - half:
            around = piece[i - half : i + half + 1]
            x = sum(row[1] for row in around) / width
            y = sum(row[2] for row in around) / width
        smooth.append([frame, x, y])
    return smooth


def smoothed(track: list[list[float]], width: int) -> list[list[float]]:
    """Average each piece between gaps; of a track with gaps, the last piece stays as it is."""
    if width == 0 or len(track) < 3:
        return track
    gaps = [track[i + 1][0] - track[i][0] for i in range(len(track) - 2)]
    pieces: list[list[list[float]]] = [[]]
    for i, row in enumerate(track):
        pieces[-1].append(row)
        if i < len(gaps) and gaps[i] != min(gaps):
            pieces.append([])
    if len(pieces) == 1:
        return average(track, width)
    done = [average(piece, width) for piece in pieces[:-1]] + [pieces[-1]]
    return [row for piece in done for row in piece]


def scenarios(
    files: list[list[Row]],
    *,
    split: tuple[float, float],
    interval: int,
    frequency: float,
    rate: int,
    width: int,
    observe: int,
    predict: int,
    fewest: int,
) -> list[tuple[int, dict[int, list[list[float]]]]]:
    """Scenarios: first frame, and of each person the observed and future positions."""
    rows = behind_each_other(files)
    rows = rows[int(len(rows) * split[0]) : int(len(rows) * split[1])]
    if not rows:
        return []
    first, last = int(min(row[0] for row in rows)), int(max(row[0] for row in rows))
    if rate > 1:
        interval, frequency = interval * rate, frequency / rate
        rows = [row for row in rows if int(row[0]) in range(first, last + 1, interval)]
    tracks: dict[int, list[list[float]]] = {}
    for frame, person, x, y in rows:
        tracks.setdefault(person, []).append([frame, x, y])
    for person, track in tracks.items():
        tracks[person] = smoothed(fill(track, interval, frequency), width)
    found = []
    for start in range(first, last, interval):
        middle = start + observe * interval
        end = middle + predict * interval
        people: dict[int, list[list[float]]] = {}
        good = True
        for person, track in tracks.items():
            seen = [[x, y] for frame, x, y in track if start <= frame < middle]
            follow = [[x, y] for frame, x, y in track if middle <= frame < end]
            if len(seen) >= observe:
                good = good and len(follow) >= predict
                people[person] = seen[:observe] + follow[:predict]
            elif seen:
                good = False
        if good and len(people) >= fewest:
            found.append((start, people))
    return found
