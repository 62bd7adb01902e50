#include "api/openapi/components.h"

namespace agent_graph::api {

const std::string_view kFileSchemas = R"json({
  "FileInfo": {
    "type": "object",
    "properties": {
      "file_id": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
      "mime_type": {"type": "string"},
      "size_bytes": {"type": "integer", "minimum": 1},
      "filename": {"type": ["string", "null"]},
      "extracted_text": {"type": ["string", "null"]},
      "direct_url": {"type": ["string", "null"]},
      "direct_url_expires_at": {"type": ["integer", "null"], "description": "Unix seconds"}
    },
    "required": ["file_id", "mime_type", "size_bytes", "filename", "extracted_text", "direct_url",
                 "direct_url_expires_at"]
  },
  "File": {
    "allOf": [{"$ref": "#/components/schemas/FileInfo"}],
    "properties": {"url": {"type": "string"}},
    "required": ["url"]
  },
  "FileUrl": {
    "type": "object",
    "properties": {
      "file_id": {"type": "string"},
      "url": {"type": "string"},
      "expires_at": {"type": ["integer", "null"], "description": "Unix seconds"},
      "mime_type": {"type": "string"}
    },
    "required": ["file_id", "url", "expires_at", "mime_type"]
  },
  "MultimodalConfig": {
    "type": "object",
    "properties": {
      "media_storage_type": {"enum": ["memory", "local", "pg", "cloud"]},
      "media_storage_path": {"type": "string"},
      "media_max_size_mb": {"type": "number"},
      "document_handling": {"enum": ["extract_text", "pass_raw", "skip"]}
    },
    "required": ["media_storage_type", "media_storage_path", "media_max_size_mb",
                 "document_handling"]
  },
  "EvalStatus": {"enum": ["pass", "fail"]},
  "EvalRuns": {
    "type": "object",
    "properties": {
      "runs": {
        "type": "array",
        "items": {
          "type": "object",
          "properties": {
            "id": {"type": "string"},
            "name": {"type": "string"},
            "run": {"type": "string", "pattern": "^#[0-9]+$"},
            "rate": {"type": "number"},
            "status": {"$ref": "#/components/schemas/EvalStatus"},
            "cases": {"type": "integer"},
            "ago": {"type": "string"}
          },
          "required": ["id", "name", "run", "rate", "status", "cases", "ago"]
        }
      }
    },
    "required": ["runs"]
  },
  "EvalTile": {
    "type": "object",
    "properties": {
      "label": {"type": "string"}, "value": {"type": "string"}, "tone": {"type": "string"}
    },
    "required": ["label", "value"]
  },
  "EvalCase": {
    "type": "object",
    "properties": {
      "id": {"type": "string"},
      "name": {"type": "string"},
      "type": {"enum": ["sim", "eval"]},
      "score": {"type": "number"},
      "status": {"$ref": "#/components/schemas/EvalStatus"},
      "lat": {"type": "string"},
      "cost": {"type": "string"},
      "input": {"type": "string"},
      "expected": {"type": "string"},
      "actual": {"type": "string"},
      "rubric": {
        "type": ["array", "null"],
        "items": {
          "type": "object",
          "properties": {
            "key": {"type": "string"}, "value": {"type": "number"}, "tone": {"type": "string"}
          },
          "required": ["key", "value", "tone"]
        }
      },
      "conversation": {
        "type": ["array", "null"],
        "items": {
          "type": "object",
          "properties": {"role": {"enum": ["sim", "agent"]}, "text": {"type": "string"}},
          "required": ["role", "text"]
        }
      }
    },
    "required": ["id", "name", "type", "score", "status", "lat", "cost", "input", "expected",
                 "actual", "rubric", "conversation"]
  },
  "EvalRegression": {
    "type": ["object", "null"],
    "properties": {
      "note": {
        "type": "object",
        "properties": {
          "current": {"type": "string"}, "prev": {"type": "string"}, "suite": {"type": "string"}
        },
        "required": ["current", "prev", "suite"]
      },
      "summary": {"type": "array", "items": {"$ref": "#/components/schemas/EvalTile"}},
      "rows": {
        "type": "array",
        "items": {
          "type": "object",
          "properties": {
            "name": {"type": "string"},
            "delta": {"type": "string"},
            "dir": {"enum": ["up", "down", "flat"]},
            "flip": {"type": "string"},
            "stay": {"type": "boolean"}
          },
          "required": ["name", "delta", "dir", "flip", "stay"]
        }
      }
    },
    "required": ["note", "summary", "rows"]
  },
  "EvalRun": {
    "type": "object",
    "properties": {
      "title": {"type": "string"},
      "sub": {"type": "string"},
      "rate": {"type": "number"},
      "status": {"$ref": "#/components/schemas/EvalStatus"},
      "threshold": {"type": "integer"},
      "stats": {"type": "array", "items": {"$ref": "#/components/schemas/EvalTile"}},
      "cases": {"type": "array", "items": {"$ref": "#/components/schemas/EvalCase"}},
      "regression": {"$ref": "#/components/schemas/EvalRegression"}
    },
    "required": ["title", "sub", "rate", "status", "threshold", "stats", "cases", "regression"]
  }
})json";

}  // namespace agent_graph::api
