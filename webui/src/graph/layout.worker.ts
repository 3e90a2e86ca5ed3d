import { composeLayout, LayoutCache } from './compose';
import type { LayoutRequest } from './layout_types';

const cache = new LayoutCache();

self.addEventListener('message', (message: MessageEvent<LayoutRequest>) => {
  self.postMessage(composeLayout(message.data, cache));
});
