// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.bindings;

import java.io.File;
import java.io.IOException;
import java.net.URL;
import java.util.List;

/**
 * A libtorch that is not the presets', in a folder where the linker or JavaCPP looks. The process
 * would get both, and abort while the second one registers its operators.
 */
final class ForeignLibtorch {
  private static final String PACKAGE = "org/bytedeco/pytorch";

  private ForeignLibtorch() {}

  /**
   * Returns why libtorch must not be loaded in this process.
   *
   * @return the reason with the remedy; empty if there is none, or the presets' is not on the class
   *     path, so that another one may be wanted
   */
  static String obstacle() {
    String linker = System.getenv("LD_LIBRARY_PATH");
    String found = linker == null ? "" : find(linker, "torch_cpu", "torch", "torch_cuda");
    if (!found.isEmpty()) {
      return refusal("LD_LIBRARY_PATH", found);
    }
    // JavaCPP looks there for the libraries that the jars do not have
    String java = find(System.getProperty("java.library.path", ""), "torch_cuda");
    boolean isUnused = java.isEmpty() || !LoadFailure.resources(PACKAGE, "torch_cuda").isEmpty();
    return isUnused ? "" : refusal("java.library.path", java);
  }

  private static String refusal(String variable, String library) {
    return "another libtorch is on "
        + variable
        + ", "
        + library
        + ", and two in one process abort it; remove its folder from "
        + variable;
  }

  /** Looks into the folders first: they are few, and the jars of a program may be many. */
  private static String find(String folders, String... libraries) {
    for (String folder : folders.split(File.pathSeparator)) {
      for (String library : libraries) {
        File file = new File(folder, System.mapLibraryName(library));
        if (!folder.isEmpty() && file.isFile() && !isOfPresets(file, library)) {
          return LoadFailure.resources(PACKAGE, "torch_cpu").isEmpty() ? "" : file.getPath();
        }
      }
    }
    return "";
  }

  /** A library that JavaCPP has unpacked is as long as the one in the jar. */
  private static boolean isOfPresets(File file, String library) {
    List<URL> own = LoadFailure.resources(PACKAGE, library);
    return own.stream().anyMatch(url -> length(url) == file.length());
  }

  private static long length(URL url) {
    try {
      return url.openConnection().getContentLengthLong();
    } catch (IOException e) {
      return -1;
    }
  }
}
