//! What an API server fills in where nothing stands: the defaults of [`BOUNDS`].

use super::bounds::{BOUNDS, Keyword};
use serde_json::Value;

/// Fills in the defaults of an object, as the API server does before it asks anybody: into parents that are there, and
/// in the place of `null` too.
pub fn fill_in(object: &mut Value) {
    for bound in BOUNDS {
        let Keyword::Default(json) = bound.keyword else { continue };
        let mut names = bound.path.split('.').collect::<Vec<_>>();
        let Some(field) = names.pop() else { continue };
        let parent = names.into_iter().try_fold(&mut *object, |parent, name| parent.get_mut(name));
        if let Some(Value::Object(parent)) = parent
            && parent.get(field).is_none_or(Value::is_null)
            && let Ok(default) = serde_json::from_str(json)
        {
            parent.insert(field.to_owned(), default);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn defaults_stand_where_their_parents_do() {
        let mut object =
            json!({"spec": {"etcd": {"quota": "1Gi", "metrics": null}, "backup": {"compression": {}}}});
        fill_in(&mut object);
        assert_eq!(object["spec"]["etcd"]["quota"], "1Gi");
        assert_eq!(object["spec"]["etcd"]["metrics"], "basic");
        assert_eq!(object["spec"]["storageCapacity"], "16Gi");
        assert_eq!(object["spec"]["backup"]["compression"], json!({"enabled": true, "policy": "gzip"}));
        assert_eq!(object["spec"]["backup"].get("leaderElection"), None);
        let mut nothing = json!({"spec": "x"});
        fill_in(&mut nothing);
        assert_eq!(nothing, json!({"spec": "x"}));
    }

    /// A list's entry has no defaults: they would be passed over here.
    #[test]
    fn no_default_stands_in_a_list_or_a_map() {
        for bound in BOUNDS.iter().filter(|bound| matches!(bound.keyword, Keyword::Default(_))) {
            assert!(!bound.path.contains(['[', '{']), "{}", bound.path);
        }
    }
}
