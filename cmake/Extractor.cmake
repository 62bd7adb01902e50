# agent-extract: extracts text from documents, as a separate program installed beside the module. It takes
# one file of engine/base; the others would add libraries to a program that reads what strangers send.
add_executable(agent_extract ${CMAKE_SOURCE_DIR}/extractor/main.cc ${CMAKE_SOURCE_DIR}/engine/base/utf8.cc
                             $<TARGET_OBJECTS:engine_extract>)
target_include_directories(agent_extract PRIVATE ${CMAKE_SOURCE_DIR}/engine ${CMAKE_BINARY_DIR}/generated)
target_link_libraries(agent_extract PRIVATE agent_graph_flags agent_graph_strict LibXml2::LibXml2 zip)
set_target_properties(agent_extract PROPERTIES OUTPUT_NAME agent-extract
                      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
