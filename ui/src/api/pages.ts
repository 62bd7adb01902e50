// A part of a list that the service sends in pages.
export interface ListPage<T> {
  items: T[];
  next: string | null; // the cursor of the next page
}
