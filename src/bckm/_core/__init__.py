"""What every other package stands on: types, arrays, memory, validation, deadlines."""
