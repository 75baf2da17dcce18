# SPDX-License-Identifier: Apache-2.0
# torchfeed_user_cache(result): the per-user folder for downloads, made if it is not there.
function(torchfeed_user_cache result)
  if(DEFINED ENV{XDG_CACHE_HOME})
    set(folder "$ENV{XDG_CACHE_HOME}/torchfeed")
  else()
    set(folder "$ENV{HOME}/.cache/torchfeed")
  endif()
  file(MAKE_DIRECTORY "${folder}")
  set(${result} "${folder}" PARENT_SCOPE)
endfunction()
