// The health of a box.
export interface BoxHealth {
  // Null: nothing is known.
  share: number | null;
  value: number;
  nan: number;
  infinite: number;
}
