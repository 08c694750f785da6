"""Pictures of forecasts and data: strips and movies of clips, trajectories of people."""
