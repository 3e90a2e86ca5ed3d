// Names and addresses of the guide's pages (docs/guide).

export const guide = 'Guide';
export const guideHome = '/guide/index.html';

export type GuidePage = 'first-stop' | 'watchpoints' | 'nan' | 'not-learning' | 'ranks' | 'models';

export const guidePages: ReadonlyArray<[GuidePage, string]> = [
  ['first-stop', 'Your first stop'],
  ['watchpoints', 'Watchpoints'],
  ['nan', 'Finding where a NaN began'],
  ['not-learning', 'Training that does not learn'],
  ['ranks', 'Several ranks'],
  ['models', 'Looking at a model'],
];

export const pageAddress = (page: GuidePage) => `/guide/${page}.html`;
export const guideTo = (title: string) => `Guide: ${title}`;
export const openGuide = 'Open guide';
