"""Pure arithmetic of money and time: calendars, forecasts, machines; later break-even and fit."""
