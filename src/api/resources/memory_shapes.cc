#include "api/resources/memory_shapes.h"

namespace agent_graph::api {
namespace {

using enum FieldType;

constexpr int64_t kNameBytesMax = static_cast<int64_t>(kIdBytesMax);
constexpr int64_t kCursorBytesMax = 32;
constexpr int64_t kFiltersMax = 32;

constexpr Field kMemoryConfig{.name = "config",
                              .type = kObject,
                              .description =
                                  "`agent_id`: the agent that owns the memories. "
                                  "`user_id`: the user, if the caller may access all users. "
                                  "Other members are ignored"};
constexpr Field kOptions{
    .name = "options",
    .type = kObject,
    .description = "Options of the store, such as `replace_metadata` of an update"};

constexpr Field kContentField{.name = "content",
                              .type = kContent,
                              .description = "A text or a message; searches use its text",
                              .required = true};
constexpr Field kMetadata{
    .name = "metadata", .type = kObject, .description = "`category` is the memory's own"};
constexpr Field kFilterValue{.type = kScalar, .required = true};
constexpr Field kFilters{.name = "filters",
                         .type = kObject,
                         .description = "Values that metadata or fields of the record must have",
                         .maximum = kFiltersMax,
                         .entry = &kFilterValue};

// Stricter than kFilters: a filter whose value was lost would delete more memories than intended.
constexpr Field kStrictFilterValue{.type = kScalar, .required = true, .not_blank = true};
constexpr Field kStrictFilters{.name = kFilters.name,
                               .type = kObject,
                               .description = kFilters.description,
                               .not_null = true,
                               .maximum = kFiltersMax,
                               .entry = &kStrictFilterValue};

constexpr std::array kStoreFields = {
    kContentField,
    kMemoryType,
    Field{.name = "category",
          .type = kText,
          .description = "Absent or empty: general",
          .maximum = kNameBytesMax},
    kMetadata,
    kMemoryConfig,
    kOptions,
};

constexpr std::array kSearchFields = {
    Field{.name = "query", .type = kText, .required = true, .not_blank = true},
    Field{.name = "memory_type",
          .type = kChoice,
          .description = "Empty: any",
          .fallback = 0,
          .has_fallback = true,
          .choices = kMemoryTypeFilters},
    Field{.name = "category", .type = kText, .description = "Empty: any"},
    kSearchLimit,
    Field{.name = "score_threshold",
          .type = kNumber,
          .description = "Minimum score of a result; 0: any"},
    kFilters,
    kRetrievalStrategy,
    kDistanceMetric,
    kMaxTokens,
    kMemoryConfig,
    kOptions,
};

constexpr std::array kListFields = {
    kMemoryListLimit,
    Field{.name = "cursor",
          .type = kText,
          .description = "`next_cursor` of the previous page",
          .maximum = kCursorBytesMax},
    kMemoryConfig,
    kOptions,
};

constexpr std::array kForgetFields = {
    Field{
        .name = "memory_type", .type = kChoice, .not_null = true, .choices = memory::kMemoryTypes},
    Field{.name = "category", .type = kText, .not_null = true, .not_blank = true},
    kStrictFilters,
    kMemoryConfig,
    kOptions,
};

constexpr std::array kUpdateFields = {kContentField, kMetadata, kMemoryConfig, kOptions};

constexpr std::array kMemoryFields = {kMemoryConfig, kOptions};

}  // namespace

const FieldTable kStoreMemoryBody{"StoreMemoryRequest", kStoreFields};
const FieldTable kSearchMemoriesBody{"SearchMemoriesRequest", kSearchFields};
const FieldTable kListMemoriesBody{"ListMemoriesRequest", kListFields};
const FieldTable kForgetMemoriesBody{"ForgetMemoriesRequest", kForgetFields};
const FieldTable kUpdateMemoryBody{"UpdateMemoryRequest", kUpdateFields};
const FieldTable kMemoryBody{"MemoryRequest", kMemoryFields};

}  // namespace agent_graph::api
