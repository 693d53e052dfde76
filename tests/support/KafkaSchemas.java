import java.lang.reflect.Method;
import java.util.Collection;
import java.util.Map;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.types.ArrayOf;
import org.apache.kafka.common.protocol.types.BoundField;
import org.apache.kafka.common.protocol.types.CompactArrayOf;
import org.apache.kafka.common.protocol.types.Field;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.TaggedFields;
import org.apache.kafka.common.protocol.types.Type;
import org.apache.kafka.common.message.ApiMessageType;

/** Prints the layout of every request and response that Kafka's own client classes know, one field a line. */
public final class KafkaSchemas {
    public static void main(String[] arguments) throws Exception {
        for (ApiMessageType api : ApiMessageType.values()) {
            short lowest = api.lowestSupportedVersion();
            short highest = api.highestSupportedVersion(true);
            if (highest < lowest) {
                continue;
            }
            System.out.printf("api %d %s %d %d %d %s%n", api.apiKey(), api.name, lowest, highest,
                    api.highestSupportedVersion(false), api.listeners());
            for (int part = 0; part < 2; part++) {
                Schema[] schemas = part == 0 ? api.requestSchemas() : api.responseSchemas();
                ApiMessage sample = part == 0 ? api.newRequest() : api.newResponse();
                for (int version = lowest; version <= highest; version++) {
                    BoundField[] fields = schemas[version].fields();
                    boolean flexible = fields.length > 0 && fields[fields.length - 1].def.type instanceof TaggedFields;
                    System.out.printf("%s %d %b%n", part == 0 ? "request" : "response", version, flexible);
                    print(schemas[version], 1, sample);
                }
            }
        }
    }

    private static void print(Schema schema, int depth, Object sample) throws Exception {
        for (BoundField bound : schema.fields()) {
            if (bound.def.type instanceof TaggedFields) {
                for (Map.Entry<Integer, Field> tagged : ((TaggedFields) bound.def.type).fields().entrySet()) {
                    print(tagged.getValue(), depth, tagged.getKey(), sample);
                }
            } else {
                print(bound.def, depth, -1, sample);
            }
        }
    }

    private static void print(Field field, int depth, int tag, Object sample) throws Exception {
        Type type = field.type;
        Object value = value(sample, field.name);
        boolean nullable = type.isNullable();
        Type element = type.isArray() ? type.arrayElementType().get() : type;
        String name = element instanceof Schema ? "struct" : element.toString();
        System.out.printf("%s%s %s %b %b %d %s%n", "  ".repeat(depth), field.name, name, type.isArray(), nullable, tag,
                value instanceof Collection || value instanceof ApiMessage || value == null ? (value == null ? "null" : "-")
                        : value instanceof String && ((String) value).isEmpty() ? "-"
                        : value instanceof Number || value instanceof Boolean || value instanceof String ? value : "-");
        if (element instanceof Schema) {
            print((Schema) element, depth + 1, nested(sample, field.name));
        }
    }

    private static Method getter(Object sample, String name) {
        StringBuilder camel = new StringBuilder();
        for (String word : name.split("_")) {
            camel.append(word.isEmpty() ? "" : Character.toUpperCase(word.charAt(0)) + word.substring(1));
        }
        for (Method method : sample.getClass().getMethods()) {
            if (method.getParameterCount() == 0 && method.getName().equalsIgnoreCase(camel.toString())) {
                return method;
            }
        }
        return null;
    }

    private static Object value(Object sample, String name) throws Exception {
        Method getter = sample == null ? null : getter(sample, name);
        return getter == null ? "?" : getter.invoke(sample);
    }

    private static Object nested(Object sample, String name) throws Exception {
        Method getter = sample == null ? null : getter(sample, name);
        if (getter == null) {
            return null;
        }
        String generic = getter.getGenericReturnType().getTypeName();
        Class<?> kind = getter.getReturnType();
        if (generic.contains("<")) {
            kind = Class.forName(generic.substring(generic.indexOf('<') + 1, generic.indexOf('>')));
        } else if (Collection.class.isAssignableFrom(kind)) {
            kind = Class.forName(kind.getName().replaceAll("Collection$", ""));
        }
        return kind.getDeclaredConstructor().newInstance();
    }
}
