// Texts of heat maps that are reduced to blocks.

export const noMap = 'No heat map available';
export const loadingMap = 'Loading heat map';
export const emptyMap = 'Empty slice';
export const mapTitle = (title: string) => `Heat map: ${title}`;
export const mapSummary = (title: string, grid: readonly [number, number], block: readonly [number, number]) =>
  `${title}: ${grid.join(' by ')} values in blocks of ${block.join(' by ')}`;
export const block = (rows: string, columns: string, min: string, max: string, mean: string, special: number) =>
  `[${rows}, ${columns}]: ${min} … ${max}, mean ${mean}${special > 0 ? `, ${special.toLocaleString('en')} not finite` : ''}`;
// Of a map of distances in units in the last place.
export const ulpBlock = (rows: string, columns: string, min: string, max: string, mean: string) =>
  `[${rows}, ${columns}]: ${min} … ${max} ulp, mean ${mean}`;
