#include "facades/openai/item_page.h"

#include <algorithm>
#include <utility>

#include "agent_graph/json.h"
#include "api/http/query.h"
#include "base/json.h"
#include "base/json_array.h"
#include "base/own_json.h"
#include "facades/openai/response_shapes.h"

namespace agent_graph::openai {

ItemPageOptions ReadItemPageOptions(const api::HandlerContext& context, api::Problems& problems) {
  const api::Query query(context.head().query);
  ItemPageOptions options;
  options.limit = static_cast<size_t>(api::ReadInteger(query, kLimitField, problems));
  options.newest_first = api::ReadChoice(query, kOrderField, problems) == 1;
  options.after = query.Find("after").value_or("");
  return options;
}

api::ErrorInfo NoSuchItemBefore(const std::string& list) {
  api::Problems problems;
  problems.Add({"query", "after"}, "is not an item of " + list, api::ProblemType::kValue);
  return std::move(problems).Error();
}

std::string IdOfItem(const std::string& item) {
  const Result<json> parsed = ParseJson(item, kOwnJsonLimits);
  return parsed.ok() && parsed->is_object() ? parsed->value("id", std::string()) : "";
}

bool RemoveThrough(const std::string& id, std::vector<std::string>& items) {
  const auto last = std::find_if(items.rbegin(), items.rend(),
                                 [&](const std::string& item) { return IdOfItem(item) == id; });
  if (last == items.rend()) return false;
  items.erase(items.begin(), last.base());
  return true;
}

void ItemPage::Take(std::vector<std::string> items) {
  for (std::string& item : items) {
    const bool is_full =
        items_.size() == limit_ || (!items_.empty() && bytes_ + item.size() > bytes_max_);
    has_more_ |= is_full;
    if (has_more_) return;
    bytes_ += item.size();
    items_.push_back(std::move(item));
  }
}

std::string ItemPage::Json() const {
  std::string out = R"({"object":"list","data":)";
  AppendJsonArray(out, items_, [](std::string& array, const std::string& item) { array += item; });
  out += ",\"first_id\":";
  const auto append_id = [&](const std::string& item) { AppendJsonString(out, IdOfItem(item)); };
  if (items_.empty()) {
    out += "null,\"last_id\":null";
  } else {
    append_id(items_.front());
    out += ",\"last_id\":";
    append_id(items_.back());
  }
  out += has_more_ ? ",\"has_more\":true}" : ",\"has_more\":false}";
  return out;
}

}  // namespace agent_graph::openai
