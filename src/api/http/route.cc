#include "api/http/route.h"

namespace agent_graph::api {

std::string_view NameOf(Method method) {
  switch (method) {
    case Method::kGet:
      return "GET";
    case Method::kPost:
      return "POST";
    case Method::kPut:
      return "PUT";
    case Method::kDelete:
      return "DELETE";
  }
  return "";
}

}  // namespace agent_graph::api
