// Takes the place of Node.js's modules in the page. What starts programs or looks for them is not
// used there.

const absent = () => {
  throw new Error('a page has no Node.js');
};

export const access = absent;
export const execFile = absent;
export const dirname = absent;
export const join = absent;
export const resolve = absent;
export const promisify = absent;
export const constants = {};
export const delimiter = ':';
export const isAbsolute = (path: string) => path.startsWith('/');
export const randomBytes = () => ({ toString: () => crypto.randomUUID() });
