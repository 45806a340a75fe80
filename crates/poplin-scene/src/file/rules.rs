//! Pin rules in scene files.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};

use crate::locate::Source;
use crate::{PinRule, SceneError};

/// Pin rules as text, or vertices by their indices: one or a list.
#[derive(Default)]
pub(super) struct Rules(Vec<String>);

impl JsonSchema for Rules {
    fn schema_name() -> Cow<'static, str> {
        "PinRules".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let rule = json_schema!({ "anyOf": [
            { "type": "string" },
            { "type": "integer", "minimum": 0, "maximum": u32::MAX }
        ] });
        json_schema!({ "anyOf": [rule, { "type": "array", "items": rule }] })
    }
}

/// A rule as text, or the index of a vertex.
struct Rule(String);

struct RuleVisitor;

impl de::Visitor<'_> for RuleVisitor {
    type Value = Rule;

    fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("a pin rule like \"top:3%\" or the index of a vertex")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Rule, E> {
        Ok(Rule(text.to_owned()))
    }

    fn visit_i64<E: de::Error>(self, index: i64) -> Result<Rule, E> {
        Ok(Rule(format!("indices:{index}")))
    }

    fn visit_u64<E: de::Error>(self, index: u64) -> Result<Rule, E> {
        Ok(Rule(format!("indices:{index}")))
    }
}

impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RuleVisitor)
    }
}

impl Rules {
    fn one(Rule(rule): Rule) -> Self {
        Self(vec![rule])
    }
}

impl<'de> Deserialize<'de> for Rules {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Rules;

            fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str(
                    "a pin rule like \"top:3%\", the index of a vertex, or a list of them",
                )
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Rules, E> {
                RuleVisitor.visit_str(text).map(Rules::one)
            }

            fn visit_i64<E: de::Error>(self, index: i64) -> Result<Rules, E> {
                RuleVisitor.visit_i64(index).map(Rules::one)
            }

            fn visit_u64<E: de::Error>(self, index: u64) -> Result<Rules, E> {
                RuleVisitor.visit_u64(index).map(Rules::one)
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> Result<Rules, A::Error> {
                let mut rules = Vec::new();
                while let Some(Rule(rule)) = items.next_element()? {
                    rules.push(rule);
                }
                Ok(Rules(rules))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// Parses pin rules, and reports those that are malformed.
pub(super) fn parse_rules(rules: Rules, field: &str, source: &Source<'_>) -> Vec<PinRule> {
    let parse = |(position, rule): (usize, &String)| {
        rule.parse().unwrap_or_else(|error| {
            let field = format!("{field}[{position}]");
            let at = source.location(&field);
            source.refuse(SceneError::Pin { at, field, source: error });
            // An empty list would be reported as a second fault.
            PinRule::None
        })
    };
    rules.0.iter().enumerate().map(parse).collect()
}
