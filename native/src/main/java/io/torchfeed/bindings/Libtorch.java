// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.bindings;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Properties;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.bytedeco.javacpp.Loader;

/** The loading of libtorch's library; all others depend on it. */
public final class Libtorch {
  /** The glibc that the presets' libraries need; {@code .ci/check-glibc} compares them with it. */
  private static final int GLIBC_MAJOR = 2;

  private static final int GLIBC_MINOR = 35;

  private static final Pattern MUSL = Pattern.compile("(?m)/(?:ld-musl-|libc\\.musl-)[^/\\s]*$");
  private static final Pattern GLIBC =
      Pattern.compile("(?m)(/\\S*/libc(?:\\.so\\.6|-[0-9.]+\\.so))$");
  private static final Pattern RELEASE = Pattern.compile("release version (\\d+)\\.(\\d+)");

  private static final LoadedOnce LIBRARIES = new LoadedOnce(Libtorch::loadFirst);

  private Libtorch() {}

  /**
   * Loads libtorch. Has no effect the second time, or while bindings are generated.
   *
   * @throws LoadFailure if a library is missing or cannot be loaded, or another libtorch would be
   *     loaded, too; in each call, with the reason
   */
  public static void load() {
    LIBRARIES.load();
  }

  private static void loadFirst() {
    String foreign = Loader.isLoadLibraries() ? ForeignLibtorch.obstacle() : "";
    if (!foreign.isEmpty()) {
      throw LoadFailure.refusal(foreign);
    }
    Loader.load(org.bytedeco.pytorch.global.torch.class);
  }

  /**
   * Returns the version of libtorch that this jar was built for.
   *
   * @return the version, for example {@code 2.10.0}
   */
  public static String version() {
    try (InputStream in = Libtorch.class.getResourceAsStream("build.properties")) {
      Properties properties = new Properties();
      properties.load(in);
      return properties.getProperty("libtorch");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Returns why libtorch cannot run with the C library of this process.
   *
   * @return the reason; empty if there is none, or the C library cannot be identified
   */
  public static String obstacle() {
    return obstacle(Paths.get("/proc/self/maps"));
  }

  /**
   * Returns why libtorch cannot run with the C library of a process.
   *
   * @param maps the files that the process has mapped, as {@code /proc/self/maps} lists them
   * @return the reason; empty if there is none, or the C library cannot be identified
   */
  public static String obstacle(Path maps) {
    try {
      String mapped = text(maps);
      if (MUSL.matcher(mapped).find()) {
        return "libtorch needs glibc " + required() + " or later, but this system has musl";
      }
      Matcher library = GLIBC.matcher(mapped);
      Matcher release = RELEASE.matcher(library.find() ? text(Paths.get(library.group(1))) : "");
      if (release.find() && isOlder(release)) {
        return "libtorch needs glibc "
            + required()
            + " or later, as in Debian 12 and Ubuntu 22.04, but this system has "
            + release.group(1)
            + "."
            + release.group(2);
      }
      return "";
    } catch (IOException e) {
      return ""; // not Linux; the linker's own message stays
    }
  }

  private static boolean isOlder(Matcher release) {
    int major = Integer.parseInt(release.group(1));
    return major < GLIBC_MAJOR
        || major == GLIBC_MAJOR && Integer.parseInt(release.group(2)) < GLIBC_MINOR;
  }

  private static String required() {
    return GLIBC_MAJOR + "." + GLIBC_MINOR;
  }

  private static String text(Path file) throws IOException {
    return new String(Files.readAllBytes(file), StandardCharsets.ISO_8859_1);
  }
}
