// What a view shows.

// A child of a view: one item, or an aggregate of many.
export interface Shown {
  items: number[];
  // Label of the aggregate; empty for a single item.
  label: string;
  // Of a fold of a model (model_folds.ts): the texts of its box, and the number of its children.
  title?: string;
  detail?: string;
  count?: number;
}

export interface Opened {
  // Item of the scope that contains them.
  scope: number;
  shown: Shown[];
}
