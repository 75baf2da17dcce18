// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.bindings;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.bytedeco.javacpp.Loader;

/**
 * Thrown when native libraries cannot be loaded. The message says why, as far as the class path,
 * the limits of the process and JavaCPP's cache folder tell, with the remedy.
 */
public final class LoadFailure extends UnsatisfiedLinkError {
  private static final long serialVersionUID = 1L;

  private static final String CACHE = "org.bytedeco.javacpp.cachedir";
  private static final String OTHER_FOLDER = "name another folder by -D" + CACHE + "=FOLDER";

  /** With less than this, a library did not fit into the cache folder: the largest takes more. */
  private static final long CRAMPED_BYTES = 200L << 20;

  /** Artifacts with libraries, each followed by a library and by the package that has it. */
  private static final String[][] ARTIFACTS = {
    {"javacpp", "jnijavacpp", "org/bytedeco/javacpp"},
    {"openblas", "jniopenblas_nolapack", "org/bytedeco/openblas"},
    {"pytorch", "jnitorch", "org/bytedeco/pytorch"},
    {"leptonica", "jnileptonica", "org/bytedeco/leptonica"},
    {"torchfeed-native", "jnitorchfeed", "io/torchfeed/bindings"},
  };

  private LoadFailure(String message, Throwable cause) {
    super(message);
    initCause(cause);
  }

  /** Explains why loading threw an error; returns the explanation that it has, if any. */
  static LoadFailure of(LinkageError thrown) {
    Throwable root = thrown;
    for (Throwable at = thrown; at != null; at = at.getCause()) {
      if (at instanceof LoadFailure) {
        return (LoadFailure) at;
      }
      root = at;
    }
    return new LoadFailure(reason(String.valueOf(root.getMessage())) + ": " + root, thrown);
  }

  /** A refusal to load libraries. */
  static LoadFailure refusal(String reason) {
    return new LoadFailure(reason, null);
  }

  /** The same failure, for a later call. */
  LoadFailure again() {
    return new LoadFailure(getMessage(), this);
  }

  private static String reason(String linker) {
    String system = Libtorch.obstacle();
    if (!system.isEmpty()) {
      return system;
    }
    String closed = unreadableJar();
    if (!closed.isEmpty()) {
      return closed;
    }
    String missing = String.join(", ", missing());
    if (!missing.isEmpty()) {
      return "the native libraries for "
          + Loader.getPlatform()
          + " are not on the class path (missing: "
          + missing
          + "); add the dependency io.torchfeed:torchfeed-platform"
          + (System.getProperty("jdk.module.path") == null
              ? ""
              : ", and on the module path the option --add-modules ALL-MODULE-PATH");
    }
    return "libtorch cannot be loaded" + obstacleOfLinker(linker);
  }

  /**
   * Returns why a jar of the class path or module path cannot be opened.
   *
   * @return the reason with the remedy; empty if all can be opened
   */
  public static String unreadableJar() {
    for (String property : new String[] {"java.class.path", "jdk.module.path"}) {
      for (String entry : System.getProperty(property, "").split(File.pathSeparator)) {
        if (entry.endsWith(".jar") && new File(entry).exists()) {
          try {
            new FileInputStream(entry).close();
          } catch (IOException e) {
            return "a jar cannot be opened: " + e.getMessage() + limitOfFiles(e.getMessage());
          }
        }
      }
    }
    return "";
  }

  private static List<String> missing() {
    List<String> missing = new ArrayList<>();
    for (String[] artifact : ARTIFACTS) {
      if (resources(artifact[2], artifact[1]).isEmpty()) {
        missing.add(artifact[0]);
      }
    }
    return missing;
  }

  /** The copies of a library that are on the class path, those for GPUs among them. */
  static List<URL> resources(String inPackage, String library) {
    List<URL> found = new ArrayList<>();
    for (String extension : new String[] {"", "-gpu"}) {
      String folder = "/" + inPackage + "/" + Loader.getPlatform() + extension + "/";
      try {
        URL url = Loader.findResource(LoadFailure.class, folder + System.mapLibraryName(library));
        if (url != null) {
          found.add(url);
        }
      } catch (IOException e) {
        continue; // no such resource can be read
      }
    }
    return found;
  }

  private static String obstacleOfLinker(String linker) {
    if (!limitOfFiles(linker).isEmpty()) {
      return limitOfFiles(linker);
    }
    File cache = cache();
    if (cache != null && isNoexec(cache.toPath())) {
      return ", since JavaCPP's cache folder "
          + cache
          + " is in a file system that is mounted with noexec; "
          + OTHER_FOLDER;
    }
    if (linker.contains("failed to map") || linker.contains("allocate memory")) {
      return limit("address space", "ulimit -v");
    }
    if (cache != null && cache.getUsableSpace() < CRAMPED_BYTES) {
      return ", maybe since the file system of JavaCPP's cache folder "
          + cache
          + " has only "
          + cache.getUsableSpace()
          + " bytes left; "
          + OTHER_FOLDER;
    }
    return "";
  }

  private static File cache() {
    try {
      return Loader.getCacheDir();
    } catch (IOException e) {
      return null; // there is none; JavaCPP's own message says so
    }
  }

  /**
   * Returns whether libraries in a folder cannot be loaded since its file system forbids it.
   *
   * @param folder an absolute path
   */
  public static boolean isNoexec(Path folder) {
    Path closest = Paths.get("/");
    boolean isNoexec = false;
    for (String mount : lines("/proc/self/mounts")) {
      String[] fields = mount.split(" ");
      Path place = Paths.get(fields[1].replace("\\040", " "));
      if (folder.startsWith(place) && place.startsWith(closest)) {
        closest = place;
        isNoexec = ("," + fields[3] + ",").contains(",noexec,");
      }
    }
    return isNoexec;
  }

  private static String limitOfFiles(String message) {
    if (!message.contains("Too many open files")) {
      return "";
    }
    String limit = limit("open files", "ulimit -n"); // which needs a file
    return limit.isEmpty() ? ", since the limit of open files (ulimit -n) is too low" : limit;
  }

  private static String limit(String name, String command) {
    Pattern pattern = Pattern.compile("Max " + name + " +(\\d+) .*?(\\w*) *");
    for (String line : lines("/proc/self/limits")) {
      Matcher limited = pattern.matcher(line);
      if (limited.matches()) {
        return ", since the limit of this process ("
            + command
            + ") is "
            + limited.group(1)
            + " "
            + limited.group(2)
            + "; raise it";
      }
    }
    return "";
  }

  private static List<String> lines(String file) {
    try {
      return Files.readAllLines(Paths.get(file), StandardCharsets.ISO_8859_1);
    } catch (IOException e) {
      return new ArrayList<>(); // not Linux, or no file can be opened
    }
  }
}
