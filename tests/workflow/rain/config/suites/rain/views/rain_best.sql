-- comment: The best model at each rain rate, over squares of 5 x 5 pixels.
-- columns:
--   rate: Rain rate, mm/h.

SELECT threshold AS rate, arg_max(model, value) AS model, max(value) AS value
FROM overall
WHERE suite = 'rain' AND convention = 'fss.scale5' AND threshold IS NOT NULL AND leads IS NULL
GROUP BY threshold
ORDER BY threshold
