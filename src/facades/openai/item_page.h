// Pages of items, as /responses/{id}/input_items and /conversations/{id}/items return them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "api/http/context.h"

namespace agent_graph::openai {

struct ItemPageOptions {
  size_t limit = 0;
  bool newest_first = false;
  std::string after;  // the id of an item; empty: the page is the first one
};

// Reads `limit`, `order` and `after` of the query. Invalid values are added to `problems`.
ItemPageOptions ReadItemPageOptions(const api::HandlerContext& context, api::Problems& problems);

// The error for an `after` that is no item of `list`, such as "this response".
api::ErrorInfo NoSuchItemBefore(const std::string& list);

// Items are JSON texts.
std::string IdOfItem(const std::string& item);
// Removes the items up to the last one with this id: two calls of a message may have the same id,
// and a page must not begin with an item that the page before has. Returns false if there is none.
bool RemoveThrough(const std::string& id, std::vector<std::string>& items);

class ItemPage {
 public:
  ItemPage() = default;  // takes all items
  ItemPage(size_t limit, uint64_t bytes_max) : limit_(limit), bytes_max_(bytes_max) {}

  // Takes the next items of the list, as far as they fit. A page has at least one.
  void Take(std::vector<std::string> items);
  // True if an item did not fit: none that follows is taken.
  bool has_more() const { return has_more_; }
  // Returns the list object of the protocol.
  std::string Json() const;

 private:
  size_t limit_ = std::numeric_limits<size_t>::max();
  uint64_t bytes_max_ = std::numeric_limits<uint64_t>::max();
  std::vector<std::string> items_;
  uint64_t bytes_ = 0;
  bool has_more_ = false;
};

}  // namespace agent_graph::openai
