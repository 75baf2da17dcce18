// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Enumeration;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import org.bytedeco.javacpp.annotation.SharedPtr;
import org.bytedeco.pytorch.Module;
import org.junit.jupiter.api.Test;

/**
 * The layers that libtorch does not own, although a net has them: the presets make them by no
 * shared pointer, and free them with their Java object. A net that is used afterwards ends the
 * process, which a test in the same process cannot show.
 */
class PresetLayersTest {
  private static final String UNOWNED =
      "(Alpha|FeatureAlpha)?Dropout[23]?d?Impl|(Adaptive)?(Max|Avg)Pool[123]dImpl"
          + "|MaxUnpool[123]dImpl|LPPool[123]dImpl|\\w+Pad[123]dImpl|(Batch|Instance)Norm[123]dImpl";

  private static List<Class<?>> layers() throws IOException, URISyntaxException {
    Path jar = Path.of(Module.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    List<Class<?>> layers = new ArrayList<>();
    try (JarFile file = new JarFile(jar.toFile())) {
      Enumeration<JarEntry> entries = file.entries();
      while (entries.hasMoreElements()) {
        String name = entries.nextElement().getName();
        if (name.matches("org/bytedeco/pytorch/\\w+Impl\\.class")) {
          Class<?> type = type(name.substring(0, name.lastIndexOf('.')).replace('/', '.'));
          if (Module.class.isAssignableFrom(type)) {
            layers.add(type);
          }
        }
      }
    }
    return layers;
  }

  private static Class<?> type(String name) {
    try {
      return Class.forName(name, false, Module.class.getClassLoader());
    } catch (ClassNotFoundException e) {
      throw new IllegalStateException(e);
    }
  }

  private static boolean isOwned(Class<?> layer) {
    return Arrays.stream(layer.getDeclaredMethods())
        .filter(method -> method.getName().equals("allocate"))
        .allMatch(method -> method.isAnnotationPresent(SharedPtr.class));
  }

  @Test
  void theGuideNamesTheLayersThatLibtorchDoesNotOwn() throws Exception {
    List<String> unowned =
        layers().stream()
            .filter(layer -> !isOwned(layer))
            .map(Class::getSimpleName)
            .sorted()
            .toList();
    List<String> named =
        layers().stream()
            .map(Class::getSimpleName)
            .filter(name -> name.matches(UNOWNED))
            .sorted()
            .toList();
    assertThat(unowned).isEqualTo(named).hasSize(41);
    assertThat(Files.readString(Path.of("FROM_PYTORCH.md")))
        .contains("these %d classes".formatted(unowned.size()));
  }
}
