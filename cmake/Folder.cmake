# agent_graph_folder(engine/state DEPENDS engine/base ... LIBRARIES leveldb::leveldb)
#
# One object library per folder, and, when t/unit/<folder> exists, one test program of it. Include
# paths follow the floors: engine code sees engine/ only, src code sees src/ and engine/, so an
# include against the direction of dependencies does not compile.
if(AGENT_GRAPH_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
  enable_testing()
endif()

function(agent_graph_folder folder)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LIBRARIES" ${ARGN})
  string(REPLACE "/" "_" target ${folder})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.cc)
  if(NOT sources)
    return()
  endif()
  add_library(${target} OBJECT ${sources})
  target_link_libraries(${target} PRIVATE agent_graph_flags ${ARG_LIBRARIES})
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/engine
                             ${CMAKE_SOURCE_DIR}/engine/include
                             ${CMAKE_BINARY_DIR}/generated)
  if(folder MATCHES "^src/")
    target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/src)
  endif()

  # Object libraries do not link transitively; keep the closure ourselves.
  set(closure ${target})
  set(libraries ${ARG_LIBRARIES})
  foreach(dependency ${ARG_DEPENDS})
    string(REPLACE "/" "_" dependency ${dependency})
    if(TARGET ${dependency})
      get_target_property(more ${dependency} AGENT_GRAPH_CLOSURE)
      list(APPEND closure ${more})
      get_target_property(more ${dependency} AGENT_GRAPH_LIBRARIES)
      if(more)
        list(APPEND libraries ${more})
      endif()
    endif()
  endforeach()
  list(REMOVE_DUPLICATES closure)
  list(REMOVE_DUPLICATES libraries)
  set_target_properties(${target} PROPERTIES AGENT_GRAPH_CLOSURE "${closure}"
                        AGENT_GRAPH_LIBRARIES "${libraries}")

  file(GLOB_RECURSE tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/t/unit/${folder}/*_test.cc)
  if(AGENT_GRAPH_TESTS AND tests)
    add_executable(test_${target} ${tests})
    foreach(object ${closure})
      target_sources(test_${target} PRIVATE $<TARGET_OBJECTS:${object}>)
    endforeach()
    target_include_directories(test_${target} PRIVATE ${CMAKE_SOURCE_DIR}/src
                               ${CMAKE_SOURCE_DIR}/engine ${CMAKE_SOURCE_DIR}/engine/include)
    target_link_libraries(test_${target} PRIVATE agent_graph_flags ${libraries} GTest::gtest
                          GTest::gmock GTest::gtest_main)
    # A test runs once where it is compiled again and again; what it tests keeps its optimisation.
    target_compile_options(test_${target} PRIVATE $<$<CONFIG:Release>:-O0>)
    if(AGENT_GRAPH_SANITIZER)
      set_source_files_properties(${tests} PROPERTIES COMPILE_OPTIONS -O0)
    endif()
    # User graphs loaded by a test resolve the SDK from the test program.
    set_target_properties(test_${target} PROPERTIES ENABLE_EXPORTS ON)
    gtest_discover_tests(test_${target} DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 900)
  endif()
endfunction()
